import Answers
package import Base
import Crypto
import JSON
import Jobs
package import Ledger
import Requests
package import Storage
package import Stores
import Stripe
import Subscriptions
import Tiers

/// Begins flows, and ends them for the account or an operator. All functions are re-runnable, within a transaction.
package struct Flows: Sendable {
  private let ledger: Ledger
  private let stores: StoreList

  /// The most flows that an account may begin in an hour.
  private static let countMax: Int64 = 30
  private static let countSpan = Instant.Span.hours(1)
  /// The number of closed flows that are kept for an account.
  private static let keptCount = 100
  /// A request that is repeated within this time after it was done returns the same flow, unless
  /// what it did was undone since.
  private static let repeatSpan = Instant.Span.minutes(15)
  /// Stripe accepts no later start.
  private static let migrationSpanMax = Instant.Span.days(700)

  package init(ledger: Ledger, stores: StoreList) {
    self.ledger = ledger
    self.stores = stores
  }

  /// Nil if Stripe is off.
  private var stripe: StripeStore? { stores.stripe }

  /// Whether a page of Stripe's may send a customer back to this address.
  package func allowsReturn(to address: String) -> Bool {
    stripe?.buying.allows(address) ?? false
  }

  /// Returns the flow of an intention: its open one, or a new one.
  ///
  /// - Throws: A `FlowProblem`, with nothing changed.
  package func begin(
    _ intention: Intention, of account: Identifier, trace: TraceContext? = nil, at now: Instant,
    in transaction: Transaction
  ) throws -> Flow {
    guard stripe?.api != nil else { throw FlowProblem(.stripeOff) }
    if !intention.kind.isForLeaving,
      let departure = try Departure.find(account, reading: transaction)
    {
      throw FlowProblem.leaving(departure)
    }
    if intention.kind.isExclusive, let flow = try known(intention, account, now, transaction) {
      return flow
    }
    let state = try beginning(intention, of: account, at: now, in: transaction)
    let begun = try FlowRows.begun(
      by: account, since: now - Self.countSpan, reading: transaction)
    guard begun.count < Self.countMax else {
      let wait = (begun.first ?? now) + Self.countSpan - now
      throw FlowProblem(.tooManyFlows, retryAfterSeconds: Int(wait.milliseconds / 1000) + 1)
    }
    let flow = Flow(intention, of: account, id: Random.identifier(), state: state, at: now)
    if try start(flow, trace: trace, in: transaction) { return flow }
    // On PostgreSQL, another request was faster.
    guard let faster = try known(intention, account, now, transaction) else {
      throw FlowProblem(.flowRunning)
    }
    return faster
  }

  /// Returns false if the account has another open flow.
  private func start(
    _ flow: Flow, trace: TraceContext? = nil, in transaction: Transaction
  ) throws -> Bool {
    guard try FlowRows.insert(flow, in: transaction) else { return false }
    try FlowRows.prune(of: flow.account, keeping: Self.keptCount, in: transaction)
    try Jobs.request(
      FlowRunner.job, flow.object, due: flow.created, trace: trace, in: transaction)
    return true
  }

  /// Repeats a change to a smaller plan that waits if a delivery shows that its subscription bills other additions
  /// since. The schedule at Stripe names all that is billed after the period, so an addition that it does not name
  /// would end.
  package func repeatChanges(
    after recorded: [Recorded], at now: Instant, in transaction: Transaction
  ) throws {
    guard stripe?.api != nil else { return }
    let accounts = recorded.filter { $0.provider.rawValue == "stripe" }.flatMap(\.accounts)
    for account in Set(accounts).sorted() {
      // A flow of another version of the program must not keep its account's deliveries from being stored.
      do { try repeatChange(of: account, at: now, transaction) } catch is JSONError { continue }
    }
  }

  private func repeatChange(
    of account: Identifier, at now: Instant, _ transaction: Transaction
  ) throws {
    guard let change = try FlowRows.lastChange(of: account, reading: transaction),
      let additions = try newAdditions(since: change, transaction),
      try FlowRows.open(of: account, reading: transaction) == nil,
      try Departure.find(account, reading: transaction) == nil,
      try FlowRows.begun(by: account, since: now - Self.countSpan, reading: transaction).count
        < Self.countMax
    else { return }
    let kept: Set<Flow.Key> = [.subscription, .price, .oldPrice, .additions]
    var state = change.state.filter { kept.contains($0.key) }
    state[.repeatedFor] = additions
    _ = try start(
      Flow(change.intention, of: account, id: Random.identifier(), state: state, at: now),
      in: transaction)
  }

  /// What the subscription bills besides its plan, if the change waits with something else; nil if it was repeated for
  /// this already, so that what Stripe names otherwise in its schedule is not asked for again and again.
  private func newAdditions(since change: Flow, _ transaction: Transaction) throws -> String? {
    guard change.status == .done, let additions = change.state[.additions],
      let plan = change.state[.oldPrice],
      let key = change.subscriptionKey(in: ledger.rules.grantingEnvironment)
    else { return nil }
    let reading = ledger.reading(transaction)
    guard try reading.stored(key).row?.owner == change.account else { return nil }
    let bill = try reading.subscription(key).record.bill
    let prices = bill.items.compactMap(\.price)
    let billed = Flow.additions(among: prices, to: plan)
    guard bill.isScheduled, prices.contains(plan), billed != additions,
      billed != change.state[.repeatedFor]
    else { return nil }
    return billed
  }

  /// Continues the flow at once, because the client says that it has done its part.
  package func `continue`(
    _ id: Identifier, of account: Identifier, trace: TraceContext? = nil, at now: Instant,
    in transaction: Transaction
  ) throws -> Flow {
    var flow = try find(id, of: account, reading: transaction)
    guard flow.isOpen else { return flow }
    // If the client has not done its part, the next run asks for it again.
    if flow.status == .requiresAction {
      (flow.status, flow.sealedAction) = (.running, nil)
      guard try FlowRows.store(flow, in: transaction) else { throw FlowProblem(.flowRunning) }
    }
    try Jobs.request(FlowRunner.job, flow.object, due: now, trace: trace, in: transaction)
    return flow
  }

  /// Cancels the flow for the account. What was begun at Stripe is undone, unless it was completed
  /// in the last moment.
  package func giveUp(
    _ id: Identifier, of account: Identifier, trace: TraceContext? = nil, at now: Instant,
    in transaction: Transaction
  ) throws -> Flow {
    var flow = try find(id, of: account, reading: transaction)
    guard flow.status == .requiresAction else {
      if flow.problem?.code == .givenUp || flow.step == .undo { return flow }
      throw FlowProblem(.flowRunning)
    }
    flow.state[.reason] = FlowProblem.Code.givenUp.rawValue
    (flow.step, flow.status, flow.sealedAction, flow.stepSince) = (.undo, .running, nil, now)
    guard try FlowRows.store(flow, in: transaction) else { throw FlowProblem(.flowRunning) }
    try Jobs.request(FlowRunner.job, flow.object, due: now, trace: trace, in: transaction)
    return flow
  }

  package func find(
    _ id: Identifier, of account: Identifier, reading reader: some Queryable
  ) throws -> Flow {
    guard let flow = try FlowRows.find(id, reading: reader), flow.account == account else {
      throw FlowProblem(.flowUnknown)
    }
    return flow
  }

  /// Makes the open purchase or change of an account that is being deleted run at once, so that it is undone.
  /// Returns false if none is open.
  package static func leave(
    _ account: Identifier, at now: Instant, in transaction: Transaction
  ) throws -> Bool {
    guard let flow = try FlowRows.open(of: account, reading: transaction) else { return false }
    try Jobs.request(FlowRunner.job, flow.object, due: now, in: transaction)
    return true
  }

  /// Ends a flow at any step, for an operator. What was begun at Stripe stays as it is. Returns
  /// false if the flow is over.
  package static func drop(
    _ id: Identifier, at now: Instant, in transaction: Transaction
  ) throws -> Bool {
    guard var flow = try FlowRows.find(id, reading: transaction), flow.isOpen else { return false }
    (flow.status, flow.closed, flow.sealedAction) = (.failed, now, nil)
    flow.problem = FlowProblem(.droppedByOperator)
    guard try FlowRows.store(flow, in: transaction) else { return false }
    _ = try Jobs.drop(FlowRunner.job, flow.object, in: transaction)
    return true
  }

  // MARK: what is there

  /// The account's open flow if it has the same intention, or its last flow if that had the same,
  /// was done a moment ago and still holds.
  private func known(
    _ intention: Intention, _ account: Identifier, _ now: Instant, _ transaction: Transaction
  ) throws -> Flow? {
    if let open = try FlowRows.open(of: account, reading: transaction) {
      guard open.intention == intention else {
        throw FlowProblem(
          .flowOpen,
          [
            .init("flow", .string(open.id.description)),
            .init("kind", .string(open.intention.kind.rawValue)),
          ])
      }
      return open
    }
    let last = try FlowRows.newest(of: account, limit: 10, reading: transaction)
      .first { $0.intention.kind.isExclusive }
    guard let last, last.intention == intention, last.status == .done, let closed = last.closed,
      now - closed < Self.repeatSpan, try holds(last, now, transaction)
    else { return nil }
    return last
  }

  /// Whether the ledger still shows what a flow did to its subscription. The customer may have undone
  /// it on Stripe's page, or owe again what the flow paid.
  private func holds(
    _ flow: Flow, _ now: Instant, _ transaction: Transaction
  ) throws -> Bool {
    let current = try ledger.purchases(of: flow.account, at: now, reading: transaction)
      .filter { $0.key.provider.rawValue == "stripe" && $0.isCurrent }
    let own = current.first { $0.key.id == flow.state[.subscription] }
    switch flow.intention.kind {
    case .cancel: return own?.willRenew != true
    case .uncancel: return own?.willRenew == true
    case .resume: return own?.label != .paused
    case .change:
      guard let own else { return false }
      let bill = try ledger.reading(transaction).subscription(own.key).record.bill
      // The ledger does not show what is scheduled.
      return bill.isScheduled || bill.items.contains { $0.price == flow.state[.price] }
    // The next request pays what else is owed.
    case .pay: return try owing(current, transaction) == nil
    // A repeat never buys again, and the ledger does not show the card.
    case .subscribe, .checkout, .migrate, .card, .portal: return true
    }
  }

  /// Returns what the steps need to know. Throws if there is nothing to do.
  private func beginning(
    _ intention: Intention, of account: Identifier, at now: Instant, in transaction: Transaction
  ) throws -> Flow.State {
    let purchases = try ledger.purchases(of: account, at: now, reading: transaction)
    let stripe = purchases.filter { $0.key.provider.rawValue == "stripe" }
    let base = stripe.first { $0.preventsPurchase }
    let current = base ?? stripe.first { $0.isCurrent }
    let elsewhere = purchases.first {
      $0.key.provider.rawValue != "stripe" && $0.preventsPurchase
    }
    var state: Flow.State = [:]
    // Only an addition is left, which is no plan that could be changed.
    if intention.kind == .change, base == nil, current != nil { throw FlowProblem(.noSubscription) }
    // A customer who bought before there were flows does not become a second one.
    if intention.kind.isPurchase {
      let kept = try StripeCustomers(of: account, reading: transaction).id
      if let kept, try !isOwn(kept, account, transaction) {
        try StripeCustomers.forget(kept, of: account, in: transaction)
      }
      if let known = try customer(of: account, stripe, transaction) {
        _ = try StripeCustomers.keep(known, of: account, in: transaction)
      }
    }
    if let plan = intention.plan {
      let product = try product(
        of: plan, intention.interval ?? .month,
        in: ledger.catalogue(reading: transaction))
      state[.price] = product.id
      if let days = product.trialDays, [.subscribe, .checkout].contains(intention.kind),
        try ledger.isFirstPurchase(of: account, reading: transaction)
      {
        state[.trialDays] = String(days)
      }
    }
    switch intention.kind {
    case .subscribe, .checkout:
      if let base { throw already(base) }
      if let elsewhere { throw self.elsewhere(elsewhere) }
    case .migrate:
      if let base { throw already(base) }
      guard let elsewhere else { throw FlowProblem(.nothingToMigrate) }
      let store = elsewhere.key.provider.rawValue
      guard stores.mayMigrate(from: elsewhere.key.provider) else {
        throw FlowProblem(.migrationNotOffered, [.init("store", .string(store))])
      }
      state[.purchase] = elsewhere.key.description
    case .change, .resume, .card, .uncancel, .pay:
      let owing = intention.kind == .pay ? try owing(stripe.filter(\.isCurrent), transaction) : nil
      guard let meant = owing ?? current else {
        throw FlowProblem(stripe.isEmpty ? .noSubscription : .subscriptionEnded)
      }
      state[.subscription] = meant.key.id
      if let maker = try customer(of: meant, transaction), try !isOwn(maker, account, transaction) {
        state[.shared] = "yes"
      }
      if intention.kind == .uncancel {
        try state.merge(lastChange(of: account, to: meant.key.id, transaction)) { $1 }
      }
    case .cancel:
      guard let current else { throw FlowProblem(.nothingToCancel) }
      state[.subscription] = current.key.id
    case .portal:
      state[.customer] = try customer(of: account, stripe, transaction)
      // The page shows the subscriptions of one customer.
      if let current, let own = try customer(of: current, transaction),
        try isOwn(own, account, transaction)
      {
        state[.customer] = own
      }
      guard state[.customer] != nil else { throw FlowProblem(.noCustomer) }
    }
    return state
  }

  /// The prices and the schedule of the account's last change. Undoing a cancellation makes it wait again if it waited.
  private func lastChange(
    of account: Identifier, to subscription: String, _ transaction: Transaction
  ) throws -> Flow.State {
    let flows = try FlowRows.newest(of: account, limit: Self.keptCount, reading: transaction)
    let change = flows.first {
      $0.intention.kind == .change && $0.status == .done
        && $0.state[.subscription] == subscription
    }
    return change?.state.filter { [Flow.Key.schedule, .price, .oldPrice].contains($0.key) } ?? [:]
  }

  /// The first whose newest payment fails, a plan before an addition. No request to pay names a subscription.
  private func owing(
    _ purchases: [OwnedPurchase], _ transaction: Transaction
  ) throws -> OwnedPurchase? {
    let reading = ledger.reading(transaction)
    let owing = try purchases.filter {
      try reading.subscription($0.key).record.bill.retryable != nil
    }
    return owing.first { $0.preventsPurchase } ?? owing.first
  }

  /// The second in which the time ends that another store was paid for; nil if nothing was paid there.
  static func paidUntil(_ purchase: OwnedPurchase, at now: Instant) -> String? {
    purchase.paidUntil.map {
      // Stripe counts in seconds. Rounded up, so that it does not begin before the end.
      String(min($0 + .milliseconds(999), now + migrationSpanMax).seconds)
    }
  }

  private func product(
    of id: String, _ interval: Plan.Interval, in catalogue: Catalogue
  ) throws(FlowProblem) -> Plan.Product {
    guard let plan = catalogue.paid.first(where: { $0.id == id && !$0.isAddition })
    else { throw FlowProblem(.planUnknown, [.init("plan", .string(id))]) }
    let product = plan.products.first {
      $0.provider == "stripe" && $0.price?.interval == interval
    }
    guard let product else {
      throw FlowProblem(
        .planNotSold,
        [.init("plan", .string(id)), .init("interval", .string(interval.rawValue))])
    }
    return product
  }

  /// The account's customer, or the one that made a purchase that the account owns.
  private func customer(
    of account: Identifier, _ purchases: [OwnedPurchase], _ transaction: Transaction
  ) throws -> String? {
    if let id = try StripeCustomers(of: account, reading: transaction).id,
      try isOwn(id, account, transaction)
    {
      return id
    }
    for purchase in purchases {
      if let id = try customer(of: purchase, transaction), try isOwn(id, account, transaction) {
        return id
      }
    }
    return nil
  }

  private func isOwn(
    _ customer: String, _ account: Identifier, _ transaction: Transaction
  ) throws -> Bool {
    let key = ObjectKey(
      provider: .init("stripe"), environment: ledger.rules.grantingEnvironment, kind: .customer,
      id: customer)
    return try ledger.reading(transaction).isCustomer(key, onlyOf: account)
  }

  /// The customer that made the purchase.
  private func customer(
    of purchase: OwnedPurchase, _ transaction: Transaction
  ) throws -> String? {
    try ledger.reading(transaction).subscription(purchase.key).companions.first?.id
  }

  private func already(_ purchase: OwnedPurchase) -> FlowProblem {
    let choices: [JSONValue] =
      purchase.label == .paused
      ? ["resume", "cancel"] : ["change", purchase.willRenew ? "cancel" : "uncancel"]
    return FlowProblem(
      .alreadySubscribed,
      [
        .init("store", "stripe"), .init("subscription", .string(purchase.key.description)),
        .init("choices", .array(choices)),
      ])
  }

  private func elsewhere(_ purchase: OwnedPurchase) -> FlowProblem {
    let mayMigrate = stores.mayMigrate(from: purchase.key.provider)
    let choices: [JSONValue] = mayMigrate ? ["end_at_store", "migrate"] : ["end_at_store"]
    return FlowProblem(
      .subscribedElsewhere,
      [
        .init("store", .string(purchase.key.provider.rawValue)),
        .init("subscription", .string(purchase.key.description)),
        .init("paid_until", purchase.paidUntil.map { .string($0.description) } ?? .null),
        .init("will_renew", .bool(purchase.willRenew)), .init("choices", .array(choices)),
      ])
  }
}
