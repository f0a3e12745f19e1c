import Base
import Flows
package import Ledger
package import Storage

/// Verified deliveries that wait for the ledger. Those that come during a write are recorded together in the next
/// transaction; if one of them cannot be, each alone. Any thread may call it.
package final class DeliveryQueue: Sendable {
  package typealias Completion = @Sendable (Result<Recorded, any Error>) -> Void

  /// A larger group would hold up other writers for longer than a batch may.
  private static let groupCountMax = 64
  private static let groupByteCountMax = 1 << 20
  package static let countMax = 4096

  private let ledger: Ledger
  private let flows: Flows
  private let database: Database
  private let state = Locked(State())

  private struct Member: Sendable {
    let delivery: PreparedDelivery
    let done: Completion
  }

  private struct State {
    var waiting: [Member] = []
    /// Whether a write is requested that will take the first of them.
    var isAsked = false

    mutating func takeGroup() -> [Member] {
      var byteCount = 0
      let count = waiting.prefix(groupCountMax).prefix { member in
        byteCount += member.delivery.byteCount
        return byteCount <= groupByteCountMax
      }.count
      let group = Array(waiting.prefix(max(1, count)))
      waiting.removeFirst(group.count)
      isAsked = !waiting.isEmpty
      return group
    }
  }

  package init(ledger: Ledger, database: Database) {
    self.ledger = ledger
    flows = Flows(ledger: ledger, stores: ledger.stores)
    self.database = database
  }

  /// `done` is called once the delivery is durable or was not accepted: on a storage thread, or at once on the
  /// caller's if the queue is full.
  package func record(_ delivery: PreparedDelivery, done: @escaping Completion) {
    let (isTaken, mustAsk) = state.withLock { state in
      guard state.waiting.count < Self.countMax else { return (false, false) }
      state.waiting.append(Member(delivery: delivery, done: done))
      defer { state.isAsked = true }
      return (true, !state.isAsked)
    }
    guard isTaken else { return done(.failure(DatabaseError.busy(retryAfterSeconds: 1))) }
    if mustAsk { askForTransaction() }
  }

  private func askForTransaction() {
    // The deliveries that wait when the transaction first begins. They stay the same if it must run again.
    let group = Locked<[Member]?>(nil)
    database.submitWrite(for: nil) { [self] transaction in
      try record(take(group).map(\.delivery), in: transaction)
    } completion: { [self] result in
      answer(take(group), result)
    }
  }

  private func take(_ group: Locked<[Member]?>) -> [Member] {
    if let members = group.withLock({ $0 }) { return members }
    let (members, mustAsk) = state.withLock { state in
      let members = state.takeGroup()
      return (members, state.isAsked)
    }
    group.withLock { $0 = members }
    if mustAsk { askForTransaction() }
    return members
  }

  private func answer(_ members: [Member], _ result: Result<[Recorded], any Error>) {
    switch result {
    case .success(let recorded):
      ledger.noteDurable(recorded)
      for (member, one) in zip(members, recorded) { member.done(.success(one)) }
    case .failure(let error):
      guard members.count > 1, !error.isOfDatabase else {
        for member in members { member.done(.failure(error)) }
        return
      }
      for member in members { recordAlone(member) }
    }
  }

  private func recordAlone(_ member: Member) {
    database.submitWrite(for: nil) { [self] transaction in
      try record([member.delivery], in: transaction)[0]
    } completion: { result in
      member.done(result)
    }
  }

  private func record(
    _ deliveries: [PreparedDelivery], in transaction: Transaction
  ) throws -> [Recorded] {
    let recorded = try ledger.record(deliveries, in: transaction)
    if let now = deliveries.map(\.received).max() {
      try flows.repeatChanges(after: recorded, at: now, in: transaction)
    }
    return recorded
  }
}
