internal import Base
internal import Jobs
internal import Storage
internal import Subscriptions

/// Google Play refunds and revokes a purchase that nobody acknowledged within three days.
extension Ledger {
  /// The kind of the jobs that acknowledge a purchase.
  static let acknowledgeJob = "acknowledge"

  /// Has a purchase acknowledged that belongs to somebody, in the transaction that made it so.
  ///
  /// Whatever tells an owner ends here: a read, a claim, a transfer, of this purchase or of one that
  /// it continues. The token is what its read was asked for with; without one there is nothing that
  /// Google could be told.
  func requireAcknowledgement(
    of key: ObjectKey, at now: Instant, in transaction: Transaction
  ) throws {
    guard
      let token = try Jobs.payload(Self.readJob, key.description, reading: transaction)
    else { return }
    // Once done, it is done again only for a store that forgets, and not in a loop.
    let before = try Jobs.find(Self.acknowledgeJob, key.description, reading: transaction)
    let due = (before?.committed ?? 0) > 0 ? now + .hours(1) : now
    try Jobs.need(
      Self.acknowledgeJob, key.description, payload: token, due: due, in: transaction)
  }
}
