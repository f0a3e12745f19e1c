package import Base
import Jobs
package import Storage
import Stores
package import Subscriptions

/// Acknowledges purchases, as some stores refund and revoke one that is not acknowledged in time.
/// The order is: proven by the read, owner known, kept, acknowledged.
extension Ledger {
  /// The kind of the jobs that acknowledge a purchase.
  package static let acknowledgeJob = "acknowledge"
  /// The kind of the jobs that alert an operator to purchases that are not acknowledged.
  package static let deadlineJob = "acknowledgement_deadline"

  /// Requests the acknowledgement of an owned purchase, in the transaction that gave it its owner in
  /// whatever way. The token is the one for its read; without one there is nothing to send.
  func requireAcknowledgement(
    of key: ObjectKey, at now: Instant, in transaction: Transaction
  ) throws {
    guard
      let token = try Jobs.payload(Self.readJob, key.description, reading: transaction)
    else { return }
    // A completed acknowledgement is repeated only for a store that forgets, and not in a loop.
    let before = try Jobs.find(Self.acknowledgeJob, key.description, reading: transaction)
    let due = (before?.committed ?? 0) > 0 ? now + .hours(1) : now
    try Jobs.request(
      Self.acknowledgeJob, key.description, payload: token, due: due, in: transaction)
  }

  /// Requests a missing acknowledgement after a read. It also works for a store that forgot, for
  /// which nothing is derived anew.
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

  /// Whether the store confirmed the acknowledgement and no later read contradicted it. A read
  /// within minutes may not show it yet.
  package static func isAcknowledged(
    _ key: ObjectKey, reading database: any Queryable
  ) throws -> Bool {
    let job = try Jobs.find(acknowledgeJob, key.description, reading: database)
    return job.map { $0.committed > 0 && $0.state == .settled } ?? false
  }

  /// A purchase that waits to be acknowledged, and its owner; nil if it does not wait.
  package func unacknowledged(
    _ key: ObjectKey, reading database: any Queryable
  ) throws -> (subscription: Subscription, owner: Identifier)? {
    guard let owner = try SubscriptionRow(key, reading: database)?.owner else { return nil }
    let subscription = try reading(database).subscription(key)
    return subscription.unacknowledgedSince.map { _ in (subscription, owner) }
  }
}
