import Audit
import Base
import JSON
package import Jobs
package import Ledger
import ProviderAPI
import Storage
import Stores
import Subscriptions

/// Carries out operators' orders. Each ends by the store's answer or, if that was lost, by what a read shows.
package struct OrderRunner: Sendable {
  private let access: StoreAccess

  package init(_ access: StoreAccess) { self.access = access }

  package var handler: JobHandler {
    JobHandler(Order.job) { lease throws(JobFailure) in try run(lease) }
  }

  private func run(_ lease: Lease) throws(JobFailure) -> JobResult {
    let order = try JobFailure.wrapping {
      try Int64(lease.object).flatMap { number in
        try access.database.read { try OrderRows.find(number, reading: $0) }
      }
    }
    guard let order, !order.state.isClosed else { return .nothing }
    if order.state == .doubted { return try decided(order) }
    if access.clock.now() - order.asked > Order.askingSpan { return try expired(order) }
    return try asked(order)
  }

  // MARK: asking

  private func asked(_ order: Order) throws(JobFailure) -> JobResult {
    let key = order.subscription
    let now = access.clock.now()
    let (store, record, request) = try JobFailure.wrapping {
      let record = try access.database.read {
        try access.ledger.reading($0).subscription(key).record
      }
      let request = try access.storeRead(of: key)
      // The result may never be recorded, so the attempt is recorded first.
      try access.database.write(for: nil) { try OrderRows.begin(order, at: now, in: $0) }
      return (try access.stores.store(of: key), record, request)
    }
    do throws(APIFailure) {
      try store.perform(order.request, request, record)
    } catch {
      switch error {
      // Without an answer from the store, it is unknown what was done.
      case .transient, .malformed:
        try JobFailure.wrapping {
          try access.database.write(for: nil) { try OrderRows.note("\(error)", order, in: $0) }
        }
        guard case .transient(let reason, let retryAfter) = error else {
          throw .transient("\(error)", retryAfter: nil)
        }
        throw .transient(reason, retryAfter: retryAfter)
      case .misconfigured, .notFound, .gone, .refused:
        // A store also answers this if an earlier attempt, whose answer was lost, was carried out.
        guard order.tried != nil else { return closed(order, .failed, "\(error)") }
        return doubted(order, because: "\(error)")
      }
    }
    return closed(order, .done, "done")
  }

  /// The order got no answer for so long that the store could take a repeat for another order.
  private func expired(_ order: Order) throws(JobFailure) -> JobResult {
    guard order.tried != nil else {
      let hours = Order.askingSpan.milliseconds / 3_600_000
      return closed(order, .failed, "it was not asked within \(hours) hours")
    }
    return doubted(order, because: order.answer)
  }

  // MARK: deciding by a read

  private func doubted(_ order: Order, because answer: String?) -> JobResult {
    let due = access.clock.now() + Order.doingSpan
    return JobResult { transaction in
      try OrderRows.doubt(order, because: answer, read: nil, in: transaction)
      try Jobs.request(Order.job, order.object, due: due, in: transaction)
    }
  }

  private func decided(_ order: Order) throws(JobFailure) -> JobResult {
    let key = order.subscription
    guard let number = order.readNumber else { return reading(order) }
    let (job, record) = try JobFailure.reading(access.database) { reader in
      (
        try Jobs.find(Ledger.readJob, key.description, reading: reader),
        try access.ledger.reading(reader).subscription(key).record
      )
    }
    let isUnread = job.map { $0.committed < number } ?? false
    // Only an operator drops a read, which then counts as settled.
    let isDropped = isUnread && job?.state == .settled
    // Also if its store refuses the read: nothing else shows that money did not go back.
    if isUnread, !isDropped {
      let isReadable = access.ledger.isReadable(key)
      throw .transient(isReadable ? "\(key) is not read yet" : Order.withoutKey, retryAfter: nil)
    }
    if order.isShown(by: record) { return closed(order, .done, "done: a read shows it") }
    let answer = order.answer ?? "its store did not answer"
    if isDropped {
      return closed(
        order, .failed, "\(answer); an operator dropped the read that would show what was done",
        readsAgain: false)
    }
    return closed(order, .failed, "\(answer); a read shows that it was not done")
  }

  /// Requests the read, whose number is known only afterwards.
  private func reading(_ order: Order) -> JobResult {
    let now = access.clock.now()
    return JobResult { transaction in
      switch try read(order, at: now, in: transaction) {
      case .asked: break
      case .withoutKey: throw JobFailure.transient(Order.withoutKey, retryAfter: nil)
      case .withoutToken:
        throw JobFailure.transient("\(order.subscription) cannot be read", retryAfter: nil)
      }
      let job = try Jobs.find(Ledger.readJob, order.subscription.description, reading: transaction)
      try OrderRows.doubt(
        order, because: order.answer, read: job?.requested ?? 0, in: transaction)
      try Jobs.request(Order.job, order.object, due: now, in: transaction)
    }
  }

  private func read(
    _ order: Order, at now: Instant, in transaction: Transaction
  ) throws -> Ledger.Asked {
    let store = try access.stores.store(of: order.subscription)
    return try access.ledger.read(
      order.subscription, because: store.readReason(after: order.request), at: now, in: transaction)
  }

  // MARK: the end

  private func closed(
    _ order: Order, _ state: Order.State, _ answer: String, readsAgain: Bool = true
  ) -> JobResult {
    let now = access.clock.now()
    return JobResult(
      writes: { transaction in
        if readsAgain { _ = try read(order, at: now, in: transaction) }
        let asking = try AuditEntry.find(order.name, reading: transaction)
        let act = asking?.act.split(separator: ":").first.map(String.init) ?? "subscription order"
        let entry = try AuditLog.append(
          AuditLog.Draft(
            actor: "coffer-billing", act: "\(act): \(state.rawValue)",
            subject: order.subscription.description, account: asking?.account,
            reason: asking?.reason ?? "",
            before: ["order": .string(order.name.description), "state": "open"],
            after: ["order": .string(order.name.description), "state": .string(answer)]),
          at: now, in: transaction)
        try OrderRows.close(
          order, state, answer, entry: entry.name.number, at: now, in: transaction)
      },
      committed: {
        Log.info(
          "billing.order",
          [
            "order": order.name.description, "subscription": order.subscription.description,
            "kind": order.request.kind.rawValue, "state": state.rawValue, "answer": answer,
          ])
      })
  }
}
