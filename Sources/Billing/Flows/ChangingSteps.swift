import Base
import JSON
import ProviderAPI
import Stripe
import Tiers

extension FlowSteps {
  private var subscription: String { path("subscriptions", .subscription) }

  func look() throws(APIFailure) -> StepResult {
    let outcome = try api.get(subscription, [("expand[]", "latest_invoice")])
    guard case .answered(let json) = outcome else { return .failed(.subscriptionEnded) }
    var found: Flow.State = [:]
    if let id = json["customer"].reference { found[.customer] = id }
    if let id = json["schedule"].reference { found[.schedule] = id }
    let status = json["status"].string
    if StripeEnding(status: status) == .over {
      return .failed(intention.kind == .cancel ? .nothingToCancel : .subscriptionEnded)
    }
    if intention.kind == .resume || isPausedForPayment(json) { found[.endsPause] = "yes" }
    let effect = found[.customer].map { StepResult.Effect.keepCustomer($0) }
    let next = try next(json, status, &found)
    return StepResult(next, found, effect: effect)
  }

  private func next(
    _ json: JSON, _ status: String?, _ found: inout Flow.State
  ) throws(APIFailure) -> StepResult.Next {
    switch intention.kind {
    case .cancel:
      guard StripeEnding(status: status) == .withPeriod else { return .go(.end) }
      if json.endsWithPeriod { return .go(.record) }
      return .go(found[.schedule] == nil ? .cancel : .release)
    case .uncancel:
      guard json["cancel_at_period_end"].bool == true || json["cancel_at"].integer != nil else {
        return .go(.record)
      }
      // Nothing waited, or its time went by: the price stays.
      if try !waitsAgain(json) { found[.price] = flow.state[.oldPrice] }
      return .go(.uncancel)
    case .resume:
      guard status == "paused" else { return .go(.record) }
      found[.owed] = openInvoice(of: json)
      return .go(.resume)
    case .card: return .go(.setup)
    case .pay:
      guard let id = openInvoice(of: json) else { return .failed(FlowProblem(.nothingToPay)) }
      found[.invoice] = id
      return .go(found[.endsPause] == nil ? .pay : .resume)
    case .change: return try change(json, status, &found)
    case .subscribe, .checkout, .migrate, .portal: return .failed(FlowProblem(.stripeRefused))
    }
  }

  /// Whether the account's last change waited for the end of this period when the subscription was cancelled. Stripe
  /// keeps the phases of the schedule that was released for it.
  private func waitsAgain(_ json: JSON) throws(APIFailure) -> Bool {
    guard json["schedule"].reference == nil, let price = flow.state[.price],
      flow.state[.schedule] != nil, planItem(of: json)?.price == flow.state[.oldPrice],
      case .answered(let schedule) = try api.get(path("subscription_schedules", .schedule)),
      let last = schedule["phases"].array?.last
    else { return false }
    let phase = SchedulePhase(last)
    return phase.prices.contains(price) && (phase.start ?? 0) > now.seconds
  }

  /// Changes to a larger plan, or to a longer interval of the same plan, at once; to anything else
  /// when the period ends.
  private func change(
    _ json: JSON, _ status: String?, _ found: inout Flow.State
  ) throws(APIFailure) -> StepResult.Next {
    let isRepeated = flow.state[.repeatedFor] != nil
    switch status {
    case "past_due", "unpaid", "incomplete":
      guard isRepeated else { return .failed(FlowProblem(.paymentDue)) }
      // The delivery that reports the payment repeats it again.
      found[.repeatedFor] = flow.state[.additions]
      return .go(.record)
    case "paused": return .failed(FlowProblem(.subscriptionPaused))
    default: break
    }
    guard let item = planItem(of: json), let id = item.json["id"].string,
      let price = flow.state[.price], let plan = intention.plan.flatMap({ catalogue.plan($0) })
    else {
      return .failed(
        FlowProblem(.stripeRefused, [.init("stripe_code", "no_item_with_a_plan")]))
    }
    found[.item] = id
    found[.oldPrice] = item.price
    if let schedule = found[.schedule], try isPlannedElsewhere(schedule) {
      return .failed(
        FlowProblem(.stripeRefused, [.init("stripe_code", "schedule_made_elsewhere")]))
    }
    if item.price == price { return .go(found[.schedule] == nil ? .record : .release) }
    let isLarger =
      plan.byteCount > item.plan.byteCount
      || plan.id == item.plan.id && intention.interval == .year
    // What the server repeats only goes on in the schedule that waits, and charges nobody.
    if isRepeated, isLarger || found[.schedule] == nil { return .go(.record) }
    if isLarger { return .go(.update) }
    return .go(found[.schedule] == nil ? .schedule : .phases)
  }

  /// The item that is billed for the plan, not for an addition to it.
  private func planItem(of json: JSON) -> (json: JSON, price: String, plan: Plan)? {
    for item in json["items"]["data"].array ?? [] {
      if let price = item["price"]["id"].string, let plan = plan(of: item), !plan.isAddition {
        return (item, price, plan)
      }
    }
    return nil
  }

  /// Whether a schedule says more than this server lets it say: one phase after the current one.
  /// A change would take away what the operator or Stripe's page put there.
  private func isPlannedElsewhere(_ schedule: String) throws(APIFailure) -> Bool {
    guard case .answered(let json) = try api.get("/v1/subscription_schedules/\(schedule)"),
      let start = json["current_phase"]["start_date"].integer
    else { return false }
    if json["end_behavior"].string == "cancel" { return true }
    let later = (json["phases"].array ?? []).filter { $0["start_date"].integer ?? 0 > start }
    return later.count > (json["metadata"]["coffer_account"].exists ? 1 : 0)
  }

  func plan(of item: JSON) -> Plan? {
    guard let price = item["price"]["id"].string else { return nil }
    let product = item["price"]["product"].reference
    switch catalogue.mapping(provider: "stripe", price: price, product: product) {
    case .plan(let plan), .kept(let plan, _): return plan
    case .ignored, .unknown: return nil
    }
  }

  func release() throws(APIFailure) -> StepResult {
    // Stripe refuses this if the schedule is already released.
    _ = try api.post(
      path("subscription_schedules", .schedule, "/release"), [], key: flow.key())
    if intention.kind == .cancel { return .go(.cancel) }
    return .go(flow.state[.released] == nil ? .record : .update)
  }

  // MARK: at once

  /// Asks for the new price. After the schedule was released this is another call.
  private func putPrice(_ behavior: String) throws(APIFailure) -> StripeAPI.Outcome {
    let form: StripeAPI.Form = [
      ("items[0][id]", flow.state[.item] ?? ""), ("items[0][price]", flow.state[.price] ?? ""),
      ("proration_behavior", "always_invoice"), ("payment_behavior", behavior),
    ]
    return try api.post(subscription, form, key: flow.key(flow.state[.released] ?? ""))
  }

  /// What follows once the larger plan is paid. Only then is a smaller one taken off that waits for the period's end:
  /// if the payment fails, the customer is billed as chosen before.
  var afterUpdate: Flow.Step { isScheduled ? .release : .record }

  private var isScheduled: Bool {
    intention.kind == .change && flow.state[.schedule] != nil && flow.state[.released] == nil
  }

  /// Changes the plan at once. If the card is declined, Stripe refuses at once and changes nothing.
  func update() throws(APIFailure) -> StepResult {
    if let done = try updated() { return done }
    switch try putPrice("error_if_incomplete") {
    case .answered: return .go(afterUpdate)
    case .refused(let refusal) where refusal.asksCustomer: return .go(.updateLater)
    case .refused(let refusal): return heldBySchedule(refusal) ?? failure(refusal)
    }
  }

  func updateLater() throws(APIFailure) -> StepResult {
    if let done = try updated() { return done }
    switch try putPrice("pending_if_incomplete") {
    case .answered: return .go(.awaitUpdate)
    case .refused(let refusal): return heldBySchedule(refusal) ?? failure(refusal)
    }
  }

  /// What an earlier call did; nil if it did nothing.
  private func updated() throws(APIFailure) -> StepResult? {
    guard isUnderNewKey else { return nil }
    let result = try awaitedUpdate()
    if case .failed = result.next { return nil }
    return result
  }

  /// Stripe's documents do not say whether a plan can be changed under a schedule. If it cannot, the schedule goes
  /// first, and the change is tried again. A refusal with a code has another reason, for example a missing card.
  private func heldBySchedule(_ refusal: StripeRefusal) -> StepResult? {
    guard isScheduled, refusal.code == nil, !refusal.isOfCard else { return nil }
    return .go(.release, [.released: "yes"])
  }

  func awaitedUpdate() throws(APIFailure) -> StepResult {
    let outcome = try api.get(
      subscription, [("expand[]", "latest_invoice.confirmation_secret")])
    guard case .answered(let json) = outcome else { return .failed(.subscriptionEnded) }
    if json["pending_update"].isObject { return waiting(.awaitUpdate, for: json) }
    let isChanged = (json["items"]["data"].array ?? []).contains {
      $0["price"]["id"].string == flow.state[.price]
    }
    return isChanged ? .go(afterUpdate) : .failed(.notCompleted)
  }

  // MARK: when the period ends

  func schedule() throws(APIFailure) -> StepResult {
    if isUnderNewKey, case .answered(let json) = try api.get(subscription),
      let made = json["schedule"].reference
    {
      return .go(.phases, [.schedule: made])
    }
    let form: StripeAPI.Form = [("from_subscription", flow.state[.subscription] ?? "")]
    switch try api.post("/v1/subscription_schedules", form, key: flow.key()) {
    case .answered(let json):
      guard let id = json["id"].string else { throw .malformed("a schedule without an id") }
      return .go(.phases, [.schedule: id])
    case .refused(let refusal): return failure(refusal)
    }
  }

  /// Keeps the current phase as it is, and puts after it the same at the new price. A trial that
  /// still runs ends at its own time, and the change comes then.
  func putPhases() throws(APIFailure) -> StepResult {
    let schedule = path("subscription_schedules", .schedule)
    guard case .answered(let json) = try api.get(schedule),
      case .answered(let billed) = try api.get(subscription),
      let phase = SchedulePhase(currentOf: json), let start = phase.start,
      let end = phase.end(at: now)
    else { return .failed(.stripeRefused, [.init("stripe_code", "no_current_phase")]) }
    let (old, new) = (flow.state[.oldPrice] ?? "", flow.state[.price] ?? "")
    // An earlier call did it, whose answer was lost.
    if json["metadata"]["coffer_flow"].string == flow.id.description {
      let next = json["phases"].array?.last.map { SchedulePhase($0).prices } ?? []
      return .go(.record, [.additions: Flow.additions(among: next, to: new)])
    }
    guard phase.prices.contains(old) else {
      return .failed(.stripeRefused, [.init("stripe_code", "no_item_with_a_plan")])
    }
    var form: StripeAPI.Form = [("end_behavior", "release"), ("proration_behavior", "none")]
    form += metadata()
    // Stripe updates it when the subscription gets another one.
    // https://docs.stripe.com/billing/subscriptions/subscription-schedules
    if let id = billed["default_payment_method"].reference {
      form.append(("default_settings[default_payment_method]", id))
    }
    form += phase.form("phases[0]")
    form.append(("phases[0][start_date]", String(start)))
    form.append(("phases[0][end_date]", String(end)))
    if let trialEnd = phase.trialEnd {
      form.append(("phases[0][trial_end]", String(trialEnd)))
    }
    form += phase.form("phases[1]", replacing: old, with: new)
    form.append(("phases[1][iterations]", "1"))
    // A repeat may find another phase, and may then send another form.
    let call = form.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    return try after(api.post(schedule, form, key: flow.key(call))) { _ in
      .go(.record, [.additions: Flow.additions(among: phase.prices, to: old)])
    }
  }

  // MARK: ending

  func cancel() throws(APIFailure) -> StepResult {
    if let refused = try removeDate() { return refused }
    return try setCancel(true)
  }

  func uncancel() throws(APIFailure) -> StepResult {
    let result = try setCancel(false)
    guard case .go = result.next else { return result }
    return try removeDate() ?? result
  }

  /// Takes a cancellation back that is a date without the flag, which Stripe's page can make. Stripe takes only one
  /// of these fields at a time. Returns nil unless it refuses.
  /// https://docs.stripe.com/billing/subscriptions/billing-mode/compare
  private func removeDate() throws(APIFailure) -> StepResult? {
    guard case .answered(let json) = try api.get(subscription), json.isCancelledByDate,
      case .refused(let refusal) = try api.post(
        subscription, [("cancel_at", "")], key: flow.key("date"))
    else { return nil }
    return failure(refusal)
  }

  private func setCancel(_ cancels: Bool) throws(APIFailure) -> StepResult {
    let form: StripeAPI.Form = [("cancel_at_period_end", cancels ? "true" : "false")]
    switch try api.post(subscription, form, key: flow.key()) {
    // Two prices: what waited before the cancellation waits again.
    case .answered: return .go(flow.state[.oldPrice] == flow.state[.price] ? .record : .schedule)
    case .refused(let refusal) where refusal.status == 404:
      return .failed(cancels ? .nothingToCancel : .subscriptionEnded)
    case .refused(let refusal): return failure(refusal)
    }
  }

  /// Ends the subscription at once. A repeat finds it gone, which is the wanted result.
  func end() throws(APIFailure) -> StepResult {
    switch try api.delete(subscription) {
    case .answered: return .go(.record)
    case .refused(let refusal) where refusal.status == 404: return .go(.record)
    case .refused(let refusal): return failure(refusal)
    }
  }

  // MARK: a pause

  /// Begins a new period now. Stripe makes an invoice for it, and no payment is attempted before
  /// the step that pays it. https://docs.stripe.com/api/subscriptions/resume
  func resume() throws(APIFailure) -> StepResult {
    let form: StripeAPI.Form = [("expand[]", "latest_invoice")]
    guard case .answered(let json) = try api.get(subscription, form) else {
      return .failed(.subscriptionEnded)
    }
    guard json["status"].string == "paused" else { return .go(.record) }
    // The invoice of a failed payment, or of a resumption that has already begun.
    if let id = openInvoice(of: json) { return .go(.pay, [.invoice: id]) }
    return try after(
      api.post(subscription + "/resume", form, key: flow.key()), paying)
  }

  private func paying(_ subscription: JSON) -> StepResult {
    openInvoice(of: subscription).map { .go(.pay, [.invoice: $0]) } ?? .go(.record)
  }

  /// Whether the pause is due to a missing payment. Paying does not end a pause that the customer asked for.
  private func isPausedForPayment(_ subscription: JSON) -> Bool {
    let why = subscription["status_details"]["paused"]["subscription"]["type"].string
    return subscription["status"].string == "paused"
      && [
        "trial_end_without_payment_method", "first_payment_failure", "final_payment_failure",
      ].contains(why)
  }

  private var afterPayment: Flow.Step { flow.state[.endsPause] == nil ? .record : .resume }

  // MARK: paying

  func attach() throws(APIFailure) -> StepResult {
    let form: StripeAPI.Form = [
      ("invoice_settings[default_payment_method]", flow.state[.paymentMethod] ?? "")
    ]
    return try after(api.post(path("customers", .customer), form, key: flow.key())) { _ in
      .go(.assign)
    }
  }

  /// Makes the payment method the subscription's. An overdue invoice is paid with it.
  func assign() throws(APIFailure) -> StepResult {
    let form: StripeAPI.Form = [
      ("default_payment_method", flow.state[.paymentMethod] ?? ""), ("expand[]", "latest_invoice"),
    ]
    switch try api.post(subscription, form, key: flow.key()) {
    case .answered(let json):
      return flow.state[.endsPause] == nil ? paying(json) : .go(.resume)
    case .refused(let refusal) where refusal.status == 404: return .failed(.subscriptionEnded)
    case .refused(let refusal): return failure(refusal)
    }
  }

  private func openInvoice(of subscription: JSON) -> String? {
    let invoice = subscription["latest_invoice"]
    return invoice["status"].string == "open" ? invoice["id"].string : nil
  }

  func pay() throws(APIFailure) -> StepResult {
    guard case .answered(let invoice) = try api.get(path("invoices", .invoice)) else {
      return .failed(.nothingToPay)
    }
    // Another attempt has paid it meanwhile.
    guard invoice["status"].string == "open" else { return .go(.record) }
    // A flow that ends a pause can pay a second invoice.
    let key = flow.key(flow.state[.endsPause] == nil ? "" : flow.state[.invoice] ?? "")
    switch try api.post(path("invoices", .invoice, "/pay"), [], key: key) {
    // A payment by bank debit takes days. Whatever it ends, Stripe reports when it succeeds.
    case .answered(let paid): return .go(paid["status"].string == "open" ? .record : afterPayment)
    case .refused(let refusal) where refusal.asksCustomer: return .go(.awaitInvoice)
    case .refused(let refusal): return failure(refusal)
    }
  }

  func awaitedPayment() throws(APIFailure) -> StepResult {
    let outcome = try api.get(
      path("invoices", .invoice),
      [
        ("expand[]", "confirmation_secret"), ("expand[]", "payments.data.payment.payment_intent"),
      ])
    guard case .answered(let json) = outcome else { return .failed(.nothingToPay) }
    guard json["status"].string == "open" else { return .go(afterPayment) }
    // A bank debit that the customer has confirmed is no longer the client's to complete.
    let isUnderWay = (json["payments"]["data"].array ?? []).contains {
      $0["payment"]["payment_intent"]["status"].string == "processing"
    }
    if isUnderWay { return .go(.record) }
    if isOverdue { return .failed(.notCompleted) }
    return StepResult(.wait(.awaitInvoice, confirmation(of: json)))
  }
}
