import Answers
import Base
package import Jobs
package import Ledger
import ProviderAPI
import Requests
import Storage
import Stores
import Stripe
import Subscriptions
import Tiers

/// Moves flows from step to step: a call outside any transaction, then a transaction that stores its result.
package struct FlowRunner: Sendable {
  package static let job = "flow"
  /// The most steps of one flow, far more than any flow has, so that an endless loop ends.
  private static let stepCountMax = 40

  private let access: StoreAccess

  package init(_ access: StoreAccess) { self.access = access }

  package var handler: JobHandler {
    JobHandler(Self.job, concurrencyMax: 2) { lease throws(JobFailure) in try run(lease) }
  }

  /// When the job looks again: the longer the flow has waited, the later. A client reports when it has done its part.
  private static func due(_ flow: Flow, at now: Instant) -> Instant {
    let shortest: Instant.Span = flow.status == .requiresAction ? .seconds(15) : .seconds(1)
    let waited = (now - flow.stepSince).milliseconds / 4
    let span = min(max(waited, shortest.milliseconds), JobRules.backoffMax.milliseconds)
    return now + .milliseconds(span)
  }

  private func run(_ lease: Lease) throws(JobFailure) -> JobResult {
    guard let id = Identifier(lease.object) else { throw .refused("is no flow") }
    for _ in 0..<Self.stepCountMax {
      let found = try JobFailure.reading(access.database) { try FlowRows.find(id, reading: $0) }
      guard let flow = found, flow.isOpen else { return .nothing }
      let transition = try perform(flow)
      let now = access.clock.now()
      guard case .go = transition.next else { return result(transition, flow, lease, at: now) }
      _ = try JobFailure.wrapping {
        try access.database.write(for: nil) { transaction in
          try keep(transition, of: flow, at: now, in: transaction)
        }
      }
    }
    throw .refused("the flow goes in a circle")
  }

  private func perform(_ flow: Flow) throws(JobFailure) -> StepResult {
    switch flow.step {
    case .record: return try recorded(flow)
    case .stopStore: return try stopStore(flow)
    default: break
    }
    guard let stripe = access.stores.stripe, let api = stripe.api else {
      throw .transient("no key of Stripe's API is configured", retryAfter: .minutes(5))
    }
    let (customer, catalogue, departure) = try JobFailure.reading(access.database) { reader in
      (
        try StripeCustomers(of: flow.account, reading: reader),
        try access.ledger.catalogue(reading: reader),
        try Departure.find(flow.account, reading: reader)
      )
    }
    let steps = FlowSteps(
      api: api, buying: stripe.buying, catalogue: catalogue, flow: flow, customer: customer,
      departure: departure, now: access.clock.now())
    do throws(APIFailure) { return try steps.perform() } catch {
      guard error == .replayed else { throw failure(error) }
      // Repeated under other keys. With this number in its state, a step looks first what its call did.
      let count = flow.state[.failures].flatMap { Int($0) } ?? 0
      return .go(flow.step, [.failures: String(count + 1)])
    }
  }

  /// An API failure never ends a flow: only Stripe's answer or the client does.
  private func failure(_ failure: APIFailure) -> JobFailure {
    if case .transient(let reason, let retryAfter) = failure {
      return .transient(reason, retryAfter: retryAfter)
    }
    return .transient("\(failure)", retryAfter: .minutes(1))
  }

  private func result(
    _ transition: StepResult, _ flow: Flow, _ lease: Lease, at now: Instant
  ) -> JobResult {
    JobResult(
      writes: { transaction in
        let kept = try keep(transition, of: flow, at: now, in: transaction)
        if let kept, kept.isOpen {
          try Jobs.request(
            Self.job, lease.object, due: Self.due(kept, at: now), in: transaction)
        }
        return kept
      }, committed: { kept in if let kept { Self.log(kept) } })
  }

  private static func log(_ flow: Flow) {
    guard !flow.isOpen else { return }
    Log.info(
      "billing.flow",
      [
        "flow": flow.object, "account": flow.account.description,
        "kind": flow.intention.kind.rawValue, "status": flow.status.rawValue,
        "problem": flow.problem?.code.rawValue ?? "-",
      ])
  }

  /// Stores what a step found. Returns nil if the flow has changed meanwhile.
  private func keep(
    _ transition: StepResult, of old: Flow, at now: Instant, in transaction: Transaction
  ) throws -> Flow? {
    var flow = old
    flow.state.merge(transition.state) { $1 }
    switch transition.effect {
    case .keepCustomer(let id):
      let kept = try StripeCustomers.keep(id, of: flow.account, in: transaction)
      // A subscription is paid by its own customer, also if the account buys as another one.
      if flow.intention.kind.isPurchase { flow.state[.customer] = kept }
    case .forgetCustomer(let id):
      try StripeCustomers.forget(id, of: flow.account, in: transaction)
      flow.state[.customer] = nil
    case nil: break
    }
    switch transition.next {
    case .go(let step):
      flow.step = step
      (flow.status, flow.sealedAction) = (.running, nil)
      if step == .record { try askLedger(&flow, at: now, in: transaction) }
      if step == .subscribe { try lookElsewhere(&flow, at: now, in: transaction) }
    case .wait(let step, let action):
      flow.step = step
      flow.status = action == nil ? .running : .requiresAction
      flow.sealedAction = action.map { flow.sealed($0, access.sealing) }
    case .done(let action):
      (flow.status, flow.closed) = (.done, now)
      flow.sealedAction = action.map { flow.sealed($0, access.sealing) }
    case .failed(let problem):
      (flow.status, flow.closed, flow.problem) = (.failed, now, problem)
      flow.sealedAction = nil
    }
    if flow.step != old.step { flow.stepSince = now }
    guard try FlowRows.store(flow, in: transaction) else { return nil }
    return flow
  }

  // MARK: the ledger

  /// Makes the ledger read the result like any other object, so that it applies before the flow is done.
  private func askLedger(
    _ flow: inout Flow, at now: Instant, in transaction: Transaction
  ) throws {
    guard let key = flow.subscriptionKey(in: access.ledger.rules.grantingEnvironment) else {
      return
    }
    _ = try access.ledger.read(key, at: now, in: transaction)
    let job = try Jobs.find(Ledger.readJob, key.description, reading: transaction)
    flow.state[.readNumber] = job.map { String($0.requested) }
  }

  private func recorded(_ flow: Flow) throws(JobFailure) -> StepResult {
    if let key = flow.subscriptionKey(in: access.ledger.rules.grantingEnvironment),
      let number = flow.state[.readNumber].flatMap({ Int64($0) })
    {
      let job = try JobFailure.reading(access.database) {
        try Jobs.find(Ledger.readJob, key.description, reading: $0)
      }
      // A read that was dropped counts as settled.
      if let job, job.committed < number, ![.dead, .settled].contains(job.state) {
        return StepResult(.wait(.record, nil))
      }
    }
    return flow.intention.kind == .migrate ? .go(.stopStore) : StepResult(.done(nil))
  }

  // MARK: the other store

  /// Finds out until when it is paid. It may have renewed while the bank asked the customer.
  private func lookElsewhere(
    _ flow: inout Flow, at now: Instant, in transaction: Transaction
  ) throws {
    guard let key = flow.state[.purchase].flatMap({ ObjectKey($0) }) else { return }
    let purchases = try access.ledger.purchases(of: flow.account, at: now, reading: transaction)
    flow.state[.paidUntil] = purchases.first { $0.key == key }
      .flatMap { Flows.paidUntil($0, at: now) }
  }

  /// Stops the renewal at the other store, because Stripe begins when that store's paid time is
  /// over. If only the customer can stop it, the flow ends with an action that says so.
  private func stopStore(_ flow: Flow) throws(JobFailure) -> StepResult {
    guard let key = flow.state[.purchase].flatMap({ ObjectKey($0) }),
      let store = access.stores[key.provider]
    else { return StepResult(.done(nil)) }
    let subscription = try JobFailure.reading(access.database) {
      try access.ledger.reading($0).subscription(key)
    }
    guard subscription.willRenew else { return StepResult(.done(nil)) }
    guard store.traits.orders.contains(.stopRenewal), store.isReadable else {
      return StepResult(.done(.endRenewal(store: key.provider.rawValue)))
    }
    let request = try JobFailure.wrapping { try access.storeRead(of: key) }
    do throws(APIFailure) {
      try store.perform(.stopRenewal, request, subscription.record)
    } catch {
      switch error {
      case .notFound, .gone, .refused:
        return StepResult(.done(.endRenewal(store: key.provider.rawValue)))
      case .transient, .misconfigured, .malformed: throw failure(error)
      }
    }
    let now = access.clock.now()
    try JobFailure.wrapping {
      try access.database.write(for: nil) { transaction in
        _ = try access.ledger.read(key, at: now, in: transaction)
      }
    }
    return StepResult(.done(nil))
  }
}

extension StoreList {
  var stripe: StripeStore? { lazy.compactMap { $0 as? StripeStore }.first }
}
