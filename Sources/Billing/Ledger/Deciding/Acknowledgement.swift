package import Base
internal import Jobs
package import Storage
internal import Stores
package import Subscriptions

/// Some stores refund and revoke a purchase that nobody acknowledged in time. The order is: proven
/// by the read, owner known, kept, acknowledged.
extension Ledger {
  /// The kind of the jobs that acknowledge a purchase.
  package static let acknowledgeJob = "acknowledge"
  /// The kind of the jobs that tell an operator of purchases that are not acknowledged.
  package static let deadlineJob = "acknowledgement_deadline"

  /// Has a purchase acknowledged that belongs to somebody, in the transaction that made it so.
  ///
  /// Whatever tells an owner ends here: a read, a claim, a transfer, of this purchase or of one that
  /// it continues. The token is what its read was asked for with; without one there is nothing that
  /// the store could be told.
  func requireAcknowledgement(
    of key: ObjectKey, at now: Instant, in transaction: Transaction
  ) throws {
    guard
      let token = try Jobs.payload(Self.readJob, key.description, reading: transaction)
    else { return }
    // Once done, it is done again only for a store that forgets, and not in a loop.
    let before = try Jobs.find(Self.acknowledgeJob, key.description, reading: transaction)
    let due = (before?.committed ?? 0) > 0 ? now + .hours(1) : now
    try Jobs.request(
      Self.acknowledgeJob, key.description, payload: token, due: due, in: transaction)
  }

  /// After a read: also for a store that forgot, of which nothing is derived anew.
  package func watchAcknowledgement(
    of key: ObjectKey, at now: Instant, in transaction: Transaction
  ) throws {
    guard let first = try stores.store(of: key).traits.acknowledgementAlarmHours.first,
      let start = try reading(transaction).subscription(key).unacknowledgedSince
    else { return }
    if try SubscriptionRow(key, reading: transaction)?.owner != nil {
      try requireAcknowledgement(of: key, at: now, in: transaction)
    }
    guard try Jobs.find(Self.deadlineJob, key.description, reading: transaction) == nil else {
      return
    }
    try Jobs.request(Self.deadlineJob, key.description, due: start + .hours(first), in: transaction)
  }

  /// Whether the store confirmed to us that it was told, and no read said otherwise since: one that follows
  /// within minutes may not know of it yet.
  package static func isAcknowledged(
    _ key: ObjectKey, reading database: any Queryable
  ) throws -> Bool {
    let job = try Jobs.find(acknowledgeJob, key.description, reading: database)
    return job.map { $0.committed > 0 && $0.state == .settled } ?? false
  }

  /// A purchase that waits to be acknowledged, and whose it is; nil where none does.
  package func unacknowledged(
    _ key: ObjectKey, reading database: any Queryable
  ) throws -> (subscription: Subscription, owner: Identifier)? {
    guard let owner = try SubscriptionRow(key, reading: database)?.owner else { return nil }
    let subscription = try reading(database).subscription(key)
    return subscription.unacknowledgedSince.map { _ in (subscription, owner) }
  }
}
