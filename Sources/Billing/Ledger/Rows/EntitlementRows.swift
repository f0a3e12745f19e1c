package import Base
package import Storage
package import Tiers

/// An account's schedule as coffer-sync reads it.
package enum EntitlementRows {
  package static func schedule(
    of account: Identifier, reading database: some Queryable
  ) throws -> [Schedule.Boundary] {
    try database.rows(
      """
      SELECT from_ms, cap_bytes, plan, reason FROM billing.entitlements
      WHERE account_id = $1 ORDER BY from_ms
      """, .id(account)
    ) { row in
      Schedule.Boundary(
        from: try row.instant(0), capByteCount: try row.integer(1), planID: try row.text(2),
        reason: try row.word(3))
    }
  }

  /// Writes what differs from `stored`. What was in force up to `now` stays known as history.
  /// `unknown` is the schedule of an account that is unknown to billing.
  package static func write(
    _ schedule: Schedule, over stored: [Schedule.Boundary], of account: Identifier,
    unknown: Schedule, at now: Instant, in transaction: Transaction
  ) throws {
    guard stored != schedule.boundaries else { return }
    transaction.report(News(of: account, .account))
    let old = Schedule(stored: stored)
    let since = try shrunkSince(of: account, reading: transaction)
    // Without rows, the account had the schedule of one that is unknown to billing, even if they were lost.
    let start = try HeldRows.end(of: account, reading: transaction) ?? .distantPast
    try HeldRows.keep(
      old ?? unknown, from: start, before: schedule, of: account, at: now, in: transaction)
    for boundary in stored where !schedule.boundaries.contains(where: { $0.from == boundary.from })
    {
      try transaction.execute(
        "DELETE FROM billing.entitlements WHERE account_id = $1 AND from_ms = $2",
        .id(account), .instant(boundary.from))
    }
    let known = Set(stored.map { Step(boundary: $0, shrunkSince: since[$0.from]) })
    let held = (old ?? unknown).entry(at: now)
    let shrunk = schedule.shrunkSince(
      at: now, heldByteCount: held.capByteCount, heldSince: since[held.from])
    let steps = zip(schedule.boundaries, shrunk).map { Step(boundary: $0, shrunkSince: $1) }
    for step in steps where !known.contains(step) {
      let boundary = step.boundary
      try transaction.execute(
        """
        INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason, shrunk_ms)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (account_id, from_ms) DO UPDATE SET cap_bytes = excluded.cap_bytes,
          plan = excluded.plan, reason = excluded.reason, shrunk_ms = excluded.shrunk_ms
        """, .id(account), .instant(boundary.from), .integer(boundary.capByteCount),
        .text(boundary.planID), .text(boundary.reason.rawValue), .instant(step.shrunkSince))
    }
  }

  /// A row: a boundary, and what is stored with it to find accounts that may hold more than it allows.
  private struct Step: Hashable {
    let boundary: Schedule.Boundary
    let shrunkSince: Instant?
  }

  private static func shrunkSince(
    of account: Identifier, reading database: some Queryable
  ) throws -> [Instant: Instant] {
    Dictionary(
      uniqueKeysWithValues: try database.rows(
        """
        SELECT from_ms, shrunk_ms FROM billing.entitlements
        WHERE account_id = $1 AND shrunk_ms IS NOT NULL
        """, .id(account)
      ) { row in (try row.instant(0), try row.instant(1)) })
  }
}
