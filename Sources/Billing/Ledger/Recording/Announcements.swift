package import Base
import Jobs
package import Storage
import Stores
package import Subscriptions

/// Handles what a store announced and its answers do not show yet.
///
/// The purchase is read again after growing pauses until they do, or something newer is announced. After a
/// day it is shown to an operator (`attention`), and reads continue only if something else requests them.
extension Ledger {
  /// How long answers that show an announcement are awaited.
  package static let announcedSpan = Instant.Span.days(1)
  private static let (pauseMin, pauseMax) = (Instant.Span.minutes(1), Instant.Span.hours(1))
  /// No purchase has more announcements within a day.
  private static let countMax: Int64 = 32

  /// Call it with each answer about a purchase, once the answer is recorded.
  package func confirmAnnounced(
    _ key: ObjectKey, at now: Instant, in transaction: Transaction
  ) throws {
    let store = try stores.store(of: key)
    guard store.traits.announcesFirst else { return }
    let told = try transaction.rows(
      """
      SELECT r.reason, COALESCE(d.created_ms, d.received_ms), d.received_ms
      FROM billing.read_requests AS r JOIN billing.deliveries AS d ON d.id = r.delivery
      WHERE r.object = $1 ORDER BY r.delivery DESC LIMIT $2
      """, .text(key.description), .integer(Self.countMax)
    ) { row in
      (reason: try row.text(0), created: try row.instant(1), received: try row.instant(2))
    }
    let record = try reading(transaction).subscription(key).record
    let known = told.compactMap { one in
      store.shows(one.reason, announced: one.created, record).map { (one, isShown: $0) }
    }
    // Of a purchase's announced states only the newest counts; of orders each one does.
    let newest = known.filter { !$0.0.reason.contains(":") }.max { $0.0.created < $1.0.created }
    let orders = known.filter { $0.0.reason.contains(":") }
    let missing = ([newest].compactMap { $0 } + orders).filter { !$0.isShown }
      .map(\.0).max { $0.received < $1.received }
    guard let missing else {
      try transaction.execute(
        "DELETE FROM billing.unconfirmed WHERE object = $1", .text(key.description))
      return
    }
    try transaction.execute(
      """
      INSERT INTO billing.unconfirmed (object, reason, since_ms) VALUES ($1, $2, $3)
      ON CONFLICT (object) DO UPDATE SET reason = excluded.reason, since_ms = excluded.since_ms
      """, .text(key.description), .text(missing.reason), .instant(missing.received))
    let age = now - missing.received
    guard age < Self.announcedSpan else { return }
    try Jobs.request(
      Self.readJob, key.description, due: now + min(max(age, Self.pauseMin), Self.pauseMax),
      in: transaction)
  }
}
