import Base
import JSON
import ProviderAPI
import Stripe
import Tiers

extension FlowSteps {
  // MARK: customer

  func makeCustomer() throws(APIFailure) -> StepResult {
    if let id = customer.id { return .go(afterCustomer, [.customer: id]) }
    if isUnderNewKey, let id = try foundCustomer() {
      return StepResult(.go(afterCustomer), [.customer: id], effect: .keepCustomer(id))
    }
    // The key is the account's, not the flow's, so that another flow makes the same customer.
    let key =
      "coffer-customer-\(flow.account)-\(customer.number)"
      + (flow.state[.failures].map { "-\($0)" } ?? "")
    let form: StripeAPI.Form = [
      ("metadata[coffer_account]", flow.account.description),
      ("metadata[coffer_customer]", String(customer.number)),
    ]
    switch try api.post("/v1/customers", form, key: key) {
    case .answered(let json):
      guard let id = json["id"].string else { throw .malformed("a customer without an id") }
      return StepResult(.go(afterCustomer), [.customer: id], effect: .keepCustomer(id))
    case .refused(let refusal): return failure(refusal)
    }
  }

  private var afterCustomer: Flow.Step {
    switch intention.kind {
    case .checkout: .open
    case .portal: .portal
    case .subscribe, .migrate, .change, .cancel, .uncancel, .resume, .card, .pay: .setup
    }
  }

  /// Earlier customers of the account have another number. They may have purchases that are another account's now.
  private func foundCustomer() throws(APIFailure) -> String? {
    let query =
      "metadata['coffer_account']:'\(flow.account)' AND metadata['coffer_customer']:'\(customer.number)'"
    guard case .answered(let json) = try api.get("/v1/customers/search", [("query", query)]) else {
      return nil
    }
    return json["data"].array?.first?["id"].string
  }

  // MARK: payment method

  func setUp() throws(APIFailure) -> StepResult {
    let form: StripeAPI.Form = [
      ("customer", flow.state[.customer] ?? ""),
      ("payment_method", intention.paymentMethod ?? ""), ("usage", "off_session"),
      ("confirm", "true"), ("automatic_payment_methods[enabled]", "true"),
      ("automatic_payment_methods[allow_redirects]", "never"),
    ]
    return try after(
      api.post("/v1/setup_intents", form + metadata(), key: flow.key()), setupTransition)
  }

  func confirmed() throws(APIFailure) -> StepResult {
    let result = try after(api.get(path("setup_intents", .setupIntent)), setupTransition)
    if case .wait = result.next, isOverdue { return .failed(.notCompleted) }
    return result
  }

  private func setupTransition(_ json: JSON) throws(APIFailure) -> StepResult {
    guard let id = json["id"].string else { throw .malformed("a setup intent without an id") }
    var found: Flow.State = [.setupIntent: id]
    found[.paymentMethod] = json["payment_method"].reference
    switch json["status"].string {
    case "succeeded":
      guard intention.kind == .card else { return .go(.subscribe, found) }
      // The customer's default is for every purchase.
      return .go(flow.state[.shared] == nil ? .attach : .assign, found)
    case "requires_action", "requires_confirmation":
      guard let secret = json["client_secret"].string else {
        throw .malformed("a setup intent without a client secret")
      }
      return StepResult(.wait(.confirm, .confirmSetup(clientSecret: secret)), found)
    case "processing": return StepResult(.wait(.confirm, nil), found)
    default:
      let error = json["last_setup_error"]
      return declined(error["code"].string, error["decline_code"].string)
    }
  }

  // MARK: subscription

  enum PaymentBehavior: String {
    case errorIfIncomplete = "error_if_incomplete"
    case defaultIncomplete = "default_incomplete"
  }

  /// Buys the subscription. If the card is declined, Stripe refuses at once and makes nothing. If
  /// the bank asks for a confirmation, it is bought again in a way that waits for it.
  func subscribe(_ behavior: PaymentBehavior) throws(APIFailure) -> StepResult {
    if let transition = try existing() { return transition }
    var form: StripeAPI.Form = [
      ("customer", flow.state[.customer] ?? ""), ("items[0][price]", flow.state[.price] ?? ""),
      ("default_payment_method", flow.state[.paymentMethod] ?? ""), ("off_session", "true"),
      ("payment_behavior", behavior.rawValue),
    ]
    if behavior == .defaultIncomplete { form.removeAll { $0.name == "off_session" } }
    var call = ""
    // The time paid at the other store is used up first. One key must always send the same call.
    if let end = paidUntil, end > now + .minutes(1) {
      form.append(("trial_end", String(end.seconds)))
      call = "later"
    } else if let days = flow.state[.trialDays] {
      form.append(("trial_period_days", days))
      call = "trial"
    }
    for extra in buying.subscriptionForm {
      form.append(extra)
      call += extra.name
    }
    switch try api.post("/v1/subscriptions", form + metadata(), key: flow.key(call)) {
    case .answered(let json): return try subscribed(json)
    case .refused(let refusal) where refusal.asksCustomer && behavior == .errorIfIncomplete:
      return .go(.authenticate)
    case .refused(let refusal): return failure(refusal)
    }
  }

  private var paidUntil: Instant? {
    flow.state[.paidUntil].flatMap { Int64($0) }.map { Instant(seconds: $0) }
  }

  /// Looks at the customer's subscriptions: an earlier call may have made this one, or another purchase was faster.
  func existing() throws(APIFailure) -> StepResult? {
    let outcome = try api.get(
      "/v1/subscriptions", [("customer", flow.state[.customer] ?? ""), ("limit", "100")])
    guard case .answered(let json) = outcome else {
      if case .refused(let refusal) = outcome { return failure(refusal) }
      return nil
    }
    let all = json["data"].array ?? []
    if let own = all.first(where: { $0["metadata"]["coffer_flow"].string == flow.id.description }) {
      return try subscribed(own)
    }
    let isTaken = all.contains { subscription in
      switch subscription["status"].string {
      case "active", "trialing", "past_due", "unpaid", "paused": !isAddition(subscription)
      default: false
      }
    }
    return isTaken ? .failed(.alreadySubscribed) : nil
  }

  /// Whether all of its items add to other plans.
  private func isAddition(_ json: JSON) -> Bool {
    let items = json["items"]["data"].array ?? []
    return !items.isEmpty && items.allSatisfy { plan(of: $0)?.isAddition ?? false }
  }

  private func subscribed(_ json: JSON) throws(APIFailure) -> StepResult {
    guard let id = json["id"].string else { throw .malformed("a subscription without an id") }
    switch json["status"].string {
    case "active", "trialing", "past_due": return .go(.record, [.subscription: id])
    // The call was meant to fail at once. It failed, but Stripe made the subscription anyway.
    case "incomplete" where flow.step == .subscribe:
      var found: Flow.State = [
        .subscription: id, .reason: FlowProblem.Code.cardDeclined.rawValue,
      ]
      found[.invoice] = json["latest_invoice"].reference
      return .go(.undo, found)
    case "incomplete": return .go(.awaitPayment, [.subscription: id])
    default: return .failed(.notCompleted)
    }
  }

  func awaited() throws(APIFailure) -> StepResult {
    let outcome = try api.get(
      path("subscriptions", .subscription),
      [("expand[]", "latest_invoice.confirmation_secret")])
    guard case .answered(let json) = outcome else { return .failed(.notCompleted) }
    switch json["status"].string {
    case "incomplete": return waiting(.awaitPayment, for: json)
    case "incomplete_expired", "canceled": return .failed(.notCompleted)
    default: return .go(.record)
    }
  }

  // MARK: pages

  func openPage() throws(APIFailure) -> StepResult {
    if let transition = try existing() { return transition }
    var form: StripeAPI.Form = [
      ("mode", "subscription"), ("customer", flow.state[.customer] ?? ""),
      ("line_items[0][price]", flow.state[.price] ?? ""), ("line_items[0][quantity]", "1"),
      ("success_url", intention.returnURL ?? ""),
    ]
    if let url = intention.cancelURL { form.append(("cancel_url", url)) }
    // One key must always send the same call, even if the settings change before a repeat.
    var extras = buying.pageForm
    if let days = flow.state[.trialDays] {
      extras.append(("subscription_data[trial_period_days]", days))
    }
    form += extras + metadata() + metadata("subscription_data[metadata]")
    let key = flow.key(extras.map { $0.name }.joined(separator: ","))
    return try after(api.post("/v1/checkout/sessions", form, key: key), sessionTransition)
  }

  func visited() throws(APIFailure) -> StepResult {
    let result = try after(api.get(path("checkout/sessions", .session)), sessionTransition)
    if case .wait = result.next, isOverdue { return .go(.undo) }
    return result
  }

  private func sessionTransition(_ json: JSON) throws(APIFailure) -> StepResult {
    guard let id = json["id"].string else { throw .malformed("a session without an id") }
    switch json["status"].string {
    case "complete":
      guard let subscription = json["subscription"].reference else {
        return StepResult(.wait(.visit, nil))
      }
      return .go(.record, [.session: id, .subscription: subscription])
    case "open":
      guard let url = json["url"].string else { throw .malformed("a session without an address") }
      return StepResult(.wait(.visit, .visit(url: url)), [.session: id])
    default: return StepResult(.failed(reason))
    }
  }

  func openPortal() throws(APIFailure) -> StepResult {
    var form: StripeAPI.Form = [
      ("customer", flow.state[.customer] ?? ""), ("return_url", intention.returnURL ?? ""),
    ]
    if let portal = buying.portal { form.append(("configuration", portal)) }
    switch try api.post("/v1/billing_portal/sessions", form, key: flow.key()) {
    case .answered(let json):
      guard let url = json["url"].string else { throw .malformed("a session without an address") }
      return StepResult(.done(.visit(url: url)))
    case .refused(let refusal): return failure(refusal)
    }
  }

  // MARK: undoing

  var reason: FlowProblem {
    let code = flow.state[.reason].flatMap { FlowProblem.Code(rawValue: $0) } ?? .notCompleted
    if code == .accountLeaving, let departure { return .leaving(departure) }
    return FlowProblem(code)
  }

  /// Undoes what was not completed. What was completed in the last moment stays: a paid invoice
  /// cannot be voided, and a used page cannot be closed.
  func undo() throws(APIFailure) -> StepResult {
    if flow.state[.session] != nil {
      _ = try api.post(path("checkout/sessions", .session, "/expire"), [], key: flow.key())
      guard case .answered(let json) = try api.get(path("checkout/sessions", .session)) else {
        return StepResult(.failed(reason))
      }
      let transition = try sessionTransition(json)
      if case .wait = transition.next {
        throw .transient("the page is still open", retryAfter: nil)
      }
      return transition
    }
    guard let id = flow.state[.invoice], intention.kind != .pay, intention.kind != .card else {
      return StepResult(.failed(reason))
    }
    // What was not paid before a pause is still owed.
    let isOwed = id == flow.state[.owed]
    if !isOwed { _ = try api.post(path("invoices", .invoice, "/void"), [], key: flow.key()) }
    guard case .answered(let invoice) = try api.get(path("invoices", .invoice)) else {
      return StepResult(.failed(reason))
    }
    switch invoice["status"].string {
    case "paid": return .go(afterUpdate)
    case "open" where isOwed: return StepResult(.failed(reason))
    case "open", "draft": throw .transient("the invoice is still open", retryAfter: nil)
    default: return StepResult(.failed(reason))
    }
  }
}
