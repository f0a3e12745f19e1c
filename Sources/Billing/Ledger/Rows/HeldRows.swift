package import Base
package import Storage
package import Tiers

/// The schedule that was in force for an account before it was written anew: a history that only grows.
package enum HeldRows {
  /// The end of the history, from which on the schedule applies. Nil if the schedule was always right.
  static func end(of account: Identifier, reading database: some Queryable) throws -> Instant? {
    try database.first(
      "SELECT to_ms FROM billing.held WHERE account_id = $1 ORDER BY from_ms DESC LIMIT 1",
      .id(account)
    ) { row in try row.instant(0) }
  }

  /// More than some decades of renewals. Older rows are kept, but not shown.
  private static let toldCountMax: Int64 = 1000

  /// The newest rows, ascending.
  package static func all(
    of account: Identifier, reading database: some Queryable
  ) throws -> [Schedule.Span] {
    try database.rows(
      """
      SELECT from_ms, to_ms, cap_bytes, plan, reason FROM billing.held
      WHERE account_id = $1 ORDER BY from_ms DESC LIMIT $2
      """, .id(account), .integer(toldCountMax)
    ) { row in
      Schedule.Span(
        from: try row.instant(0), to: try row.instant(1), capByteCount: try row.integer(2),
        planID: try row.text(3), reason: try row.word(4))
    }.reversed()
  }

  /// Stores what `old` granted from `start`, where the history ends, to `now`, if `new` shows that
  /// time differently.
  package static func keep(
    _ old: Schedule, from start: Instant, before new: Schedule, of account: Identifier,
    at now: Instant, in transaction: Transaction
  ) throws {
    let held = old.spans(from: start, to: now)
    guard held != new.spans(from: start, to: now) else { return }
    for span in held {
      try transaction.execute(
        """
        INSERT INTO billing.held (account_id, from_ms, to_ms, cap_bytes, plan, reason)
        VALUES ($1, $2, $3, $4, $5, $6)
        """, .id(account), .instant(span.from), .instant(span.to), .integer(span.capByteCount),
        .text(span.planID), .text(span.reason.rawValue))
    }
  }
}
