import Base
import JSON

extension StripeWorld {
  /// What a subscription bills after its present period.
  struct Schedule: Sendable {
    let id: String
    let subscription: String
    /// The phases after the present one, which is the subscription as it is. Each lasts a period.
    var next: [Phase]
    /// The metadata of the buyer's server.
    var account: Identifier?
    var flow: String?
    /// When the next phase would have begun, once it is released.
    var nextStart: Instant?
  }

  struct Phase: Sendable {
    var price: StripePrice
    let additions: [StripePrice]
    let discounts: [String]
    /// Nil if it pays as the schedule does, which goes with the subscription.
    var paymentMethod: String?
  }

  func nextPhase(of sub: Subscription) -> Phase? {
    sub.schedule.flatMap { schedules[optional: $0]?.next.first }
  }

  /// The schedule ends when its last phase begins.
  mutating func beginNextPhase(of sub: inout Subscription) {
    guard let schedule = sub.schedule, let phase = nextPhase(of: sub) else { return }
    sub.enter(phase)
    usePaymentMethod(phase.paymentMethod, for: sub.customer)
    schedules[schedule].next.removeFirst()
    if schedules[schedule].next.isEmpty { sub.schedule = nil }
  }

  fileprivate mutating func usePaymentMethod(_ id: String?, for customer: String) {
    guard let method = id.flatMap({ paymentMethods[optional: $0] }),
      customers[customer].paymentMethod != method.id
    else { return }
    use(method, for: customer)
  }

  /// By the seller: the price changes when the period ends, without a credit.
  mutating func schedulePrice(_ id: String, _ price: StripePrice) {
    let schedule = newID("sub_sched")
    var phase = subscriptions[id].phase
    phase.price = price
    schedules.add(Schedule(id: schedule, subscription: id, next: [phase]), id: schedule)
    update(id, isAsked: true) { $0.schedule = schedule }
  }

  /// Makes the subscription bill at once what the phase names. Nothing is credited.
  mutating func enter(_ phase: Phase, _ id: String) {
    let sub = subscriptions[id]
    let gone = sub.additions.filter { !phase.additions.contains($0.price) }
    guard !gone.isEmpty || sub.discounts != phase.discounts else { return }
    for addition in gone { removals[addition.item] = now }
    update(id, isAsked: true) { $0.enter(phase) }
  }

  /// Ends a trial before its time: a period begins now, and is billed.
  mutating func endTrial(_ id: String) {
    var sub = subscriptions[id]
    sub.status = .active
    sub.trial = sub.period.lowerBound..<now
    sub.anchor = now
    sub.period = now..<now.adding(months: sub.price.interval.monthCount)
    let lines = periodLines(of: sub, seed: "\(id)\(sub.invoiceCount)")
    let invoice = addInvoice(id, "subscription_update", lines: lines)
    sub.invoiceCount = subscriptions[id].invoiceCount
    sub.latestInvoice = invoice
    emit(invoice: invoice, "created", isAsked: true)
    finalizeQuietly(invoice)
    emit(invoice: invoice, "finalized")
    let begun = sub
    update(id, isAsked: true) { $0 = begun }
    schedulePeriodEnd(id)
    attempt(invoice)
  }
}

extension StripeWorld.Subscription {
  /// The subscription as it is.
  var phase: StripeWorld.Phase {
    StripeWorld.Phase(
      price: price, additions: additions.map { $0.price }, discounts: discounts)
  }

  fileprivate mutating func enter(_ phase: StripeWorld.Phase) {
    price = phase.price
    additions.removeAll { !phase.additions.contains($0.price) }
    discounts = phase.discounts
  }
}

/// The requests that plan changes.
extension StripeOrders {
  func schedule(_ form: Form, _ world: inout StripeWorld) throws(Refusal) -> JSONValue {
    let subscription = try living(form.value(of: "from_subscription") ?? "", world)
    guard subscription.schedule == nil, subscription.status != .paused else {
      throw .init(
        status: 400, code: nil,
        message: "You cannot migrate a subscription that is already attached to a schedule.")
    }
    let id = world.newID("sub_sched")
    // A trial is a phase of its own.
    let next = subscription.status == .trialing ? [subscription.phase] : []
    world.schedules.add(
      StripeWorld.Schedule(id: id, subscription: subscription.id, next: next), id: id)
    world.update(subscription.id, isAsked: true) { $0.schedule = id }
    return rendering(world).schedule(world.schedules[id])
  }

  /// Replaces all phases. What the present one does not name is gone at once.
  func plan(
    _ id: String, _ form: Form, _ world: inout StripeWorld
  ) throws(Refusal) -> JSONValue {
    let sub = world.subscriptions[try require(schedule: id, world).subscription]
    if !version.takesIterations, let part = form.first(where: { $0.name.hasSuffix("[iterations]") })
    {
      throw .init(
        status: 400, code: "parameter_unknown",
        message: "Received unknown parameter: \(part.name)", parameter: part.name)
    }
    var phases: [StripeWorld.Phase] = []
    while let phase = try phase("phases[\(phases.count)]", of: sub, form) { phases.append(phase) }
    let end = String(sub.period.upperBound.seconds)
    guard let present = phases.first, present.price == sub.price,
      form.value(of: "phases[0][start_date]") == String(sub.period.lowerBound.seconds),
      form.value(of: "phases[0][end_date]") == end
    else {
      throw .init(
        status: 400, code: nil, message: "The current phase must be passed in.",
        parameter: "phases")
    }
    let trialEnd = form.value(of: "phases[0][trial_end]")
    guard trialEnd == nil || sub.status == .trialing && trialEnd == end else {
      throw .init(
        status: 400, code: nil, message: "The trial must end within its phase.",
        parameter: "phases[0][trial_end]")
    }
    world.enter(present, sub.id)
    world.usePaymentMethod(
      present.paymentMethod ?? form.value(of: "default_settings[default_payment_method]"),
      for: sub.customer)
    if sub.status == .trialing, trialEnd == nil { world.endTrial(sub.id) }
    world.schedules[id].next = Array(phases.dropFirst())
    world.schedules[id].account = account(form)
    world.schedules[id].flow = form.value(of: "metadata[coffer_flow]")
    return rendering(world).schedule(world.schedules[id])
  }

  func release(_ id: String, _ world: inout StripeWorld) throws(Refusal) -> JSONValue {
    let schedule = try require(schedule: id, world)
    world.schedules[id].nextStart = world.subscriptions[schedule.subscription].period.upperBound
    world.update(schedule.subscription, isAsked: true) { $0.schedule = nil }
    return rendering(world).schedule(schedule)
  }

  /// A phase of the form; nil after the last one.
  private func phase(
    _ name: String, of sub: StripeWorld.Subscription, _ form: Form
  ) throws(Refusal) -> StripeWorld.Phase? {
    var prices: [StripePrice] = []
    while let id = form.value(of: "\(name)[items][\(prices.count)][price]") {
      prices.append(try price(id))
    }
    var discounts: [String] = []
    while let id = form.value(of: "\(name)[discounts][\(discounts.count)][discount]") {
      guard sub.discounts.contains(id) else {
        throw .init(
          status: 400, code: "resource_missing", message: "No such discount: '\(id)'",
          parameter: "\(name)[discounts]")
      }
      discounts.append(id)
    }
    let additions = sub.additions.map { $0.price }
    guard let plan = prices.first(where: { !additions.contains($0) }) else { return nil }
    return StripeWorld.Phase(
      price: plan, additions: prices.filter { $0 != plan }, discounts: discounts,
      paymentMethod: form.value(of: "\(name)[default_payment_method]"))
  }

  private func require(
    schedule id: String, _ world: StripeWorld
  ) throws(Refusal) -> StripeWorld.Schedule {
    guard let schedule = world.schedules[optional: id],
      world.subscriptions[schedule.subscription].schedule == id
    else {
      throw .init(
        status: 404, code: "resource_missing", message: "No such subscription schedule: '\(id)'",
        parameter: "schedule")
    }
    return schedule
  }
}

extension StripeRendering {
  func schedule(_ schedule: StripeWorld.Schedule) -> JSONValue {
    let sub = world.subscriptions[schedule.subscription]
    let trialEnd = sub.status == .trialing ? sub.trial?.upperBound : nil
    var present = sub.phase
    let customer = world.customers[sub.customer]
    if customer.card != .missing { present.paymentMethod = customer.paymentMethod }
    var phases = [phase(present, sub.period, trialEnd: trialEnd)]
    var start = schedule.nextStart ?? sub.period.upperBound
    for next in schedule.next {
      let end = start.adding(months: next.price.interval.monthCount)
      phases.append(phase(next, start..<end))
      start = end
    }
    let current: JSONValue = [
      "start_date": .seconds(sub.period.lowerBound), "end_date": .seconds(sub.period.upperBound),
    ]
    return [
      "id": .string(schedule.id), "object": "subscription_schedule", "current_phase": current,
      "customer": .string(sub.customer), "end_behavior": "release", "livemode": live,
      "metadata": metadata(schedule.account, schedule.flow), "phases": .array(phases),
      "status": .string(sub.schedule == schedule.id ? "active" : "released"),
      "subscription": .string(sub.id),
    ]
  }

  private func phase(
    _ phase: StripeWorld.Phase, _ times: Range<Instant>, trialEnd: Instant? = nil
  ) -> JSONValue {
    let items = ([phase.price] + phase.additions).map { price -> JSONValue in
      ["discounts": [], "price": .string(price.id), "quantity": 1, "tax_rates": []]
    }
    let discounts = phase.discounts.map { id -> JSONValue in
      ["coupon": nil, "discount": .string(id), "promotion_code": nil]
    }
    return [
      "collection_method": nil, "default_payment_method": .text(phase.paymentMethod),
      "discounts": .array(discounts),
      "end_date": .seconds(times.upperBound), "items": .array(items),
      "start_date": .seconds(times.lowerBound), "trial_end": .seconds(trialEnd),
    ]
  }
}

extension FakeStripe {
  /// The customer redeems a promotion code. Returns the discount.
  package func discount(_ subscription: String) -> String {
    operate { world in
      let id = world.newID("di")
      world.update(subscription, isAsked: true) { $0.discounts.append(id) }
      return id
    }
  }

  package func discounts(of subscription: String) -> [String] {
    operate { $0.subscriptions[subscription].discounts }
  }

  /// What it is paid with.
  package func paymentMethod(of subscription: String) -> String {
    operate { $0.customers[$0.subscriptions[subscription].customer].paymentMethod }
  }

  /// What it bills now: the plan, then its additions.
  package func prices(of subscription: String) -> [StripePrice] {
    operate {
      [$0.subscriptions[subscription].price] + $0.subscriptions[subscription].phase.additions
    }
  }

  /// From now on a plan cannot be changed while a schedule manages the subscription.
  package func refuseScheduledChanges() { operate { $0.changesScheduled = false } }

  /// The plan's price after the present period, if it is planned.
  package func scheduledPrice(of subscription: String) -> StripePrice? {
    operate { $0.nextPhase(of: $0.subscriptions[subscription])?.price }
  }
}
