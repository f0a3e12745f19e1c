package import Base
package import Storage

/// The progress of billing in deleting an account.
package struct LeavingAccount: Sendable {
  package let account: Identifier
  package var state: State
  package let begun: Instant
  /// When its deletion was requested. An account that stayed may request it again.
  package let asked: Instant
  package let erased: Instant?

  package enum State: String, Sendable {
    /// Its stores are being asked to stop billing.
    case stopping
    /// The deletion can still be cancelled.
    case waiting
    case erasing, erased
  }

  /// The kind of the jobs, one for each account, and of the one that finds them (`found`).
  package static let job = "leaving"
  package static let finder = "new"

  package static func find(
    _ account: Identifier, reading database: some Queryable
  ) throws -> LeavingAccount? {
    try database.first(
      "SELECT state, begun_ms, asked_ms, erased_ms FROM billing.account_deletions WHERE account_id = $1",
      .id(account)
    ) { row in
      LeavingAccount(
        account: account, state: State(rawValue: try row.text(0)) ?? .stopping,
        begun: try row.instant(1), asked: try row.instant(2),
        erased: try row.optionalInstant(3))
    }
  }

  /// Whether its deletion was requested, whether billing has read that or not.
  package static func isLeaving(_ account: Identifier, reading database: any Queryable) throws
    -> Bool
  {
    try database.first(
      "SELECT 1 FROM sync.account_deletions WHERE account_id = $1", .id(account)
    ) { row in try row.integer(0) } != nil
  }

  /// More than the clocks of those who request deletions may differ.
  private static let hearingSpan = Instant.Span.days(7)

  /// Accounts whose deletion was requested of `coffer-sync` or an operator and that billing has not
  /// read yet, with the time of the request.
  ///
  /// Some still exist. Others were erased before billing looked, as `--now` does at once. Billing
  /// reads requests in their order, so those older than the last that it read are done. With `last`, only those that
  /// follow it.
  package static func unheard(
    after last: (account: Identifier, asked: Instant)? = nil, limit: Int,
    reading database: some Queryable
  ) throws -> [(account: Identifier, asked: Instant)] {
    let heard = try database.first("SELECT max(asked_ms) FROM billing.account_deletions") { row in
      try row.optionalInstant(0)
    }
    let start = heard.flatMap { $0 }.map { $0 - hearingSpan } ?? .distantPast
    let isUnheard = """
      NOT EXISTS (SELECT 1 FROM billing.account_deletions AS b
        WHERE b.account_id = d.account_id AND b.asked_ms = d.asked_ms)
      AND (d.asked_ms, d.account_id) > ($3, $4)
      """
    return try database.rows(
      """
      SELECT account_id, asked_ms FROM sync.account_deletions AS d
      WHERE erased_ms IS NULL AND \(isUnheard)
      UNION ALL SELECT account_id, asked_ms FROM sync.account_deletions AS d
      WHERE erased_ms IS NOT NULL AND asked_ms >= $2 AND \(isUnheard)
      ORDER BY asked_ms, account_id LIMIT $1
      """, .integer(Int64(limit)), .instant(start), .instant(last?.asked ?? .distantPast),
      .id(last?.account ?? Identifier(high: 0, low: 0))
    ) { row in (try row.id(0), try row.instant(1)) }
  }

  /// When the account is erased (nil until it is exported), and whether that has begun. Nil if the
  /// deletion was cancelled, whether it was requested again or not.
  package func erasure(
    reading database: some Queryable
  ) throws -> (moment: Instant?, hasBegun: Bool)? {
    try database.first(
      """
      SELECT erase_ms, begun_ms FROM sync.account_deletions WHERE account_id = $1 AND asked_ms = $2
      """, .id(account), .instant(asked)
    ) { row in (try row.optionalInstant(0), try row.optionalInstant(1) != nil) }
  }

  /// Whether another Coffer has the account. Its subscriptions continue there, so nothing about
  /// them is reported to its stores from here.
  static func hasMoved(_ account: Identifier, reading database: any Queryable) throws -> Bool {
    try database.first(
      "SELECT moved FROM sync.account_deletions WHERE account_id = $1", .id(account)
    ) { row in try row.integer(0) == 1 } ?? false
  }

  package static func begin(
    _ account: Identifier, asked: Instant, at now: Instant, in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO billing.account_deletions (account_id, state, begun_ms, asked_ms)
      VALUES ($1, $2, $3, $4)
      ON CONFLICT (account_id) DO UPDATE SET state = excluded.state, begun_ms = excluded.begun_ms,
        asked_ms = excluded.asked_ms
      """, .id(account), .text(State.stopping.rawValue), .instant(now), .instant(asked))
  }

  package func become(
    _ state: State, at now: Instant, in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      UPDATE billing.account_deletions SET state = $2, erased_ms = $3
      WHERE account_id = $1 AND asked_ms = $4
      """, .id(account), .text(state.rawValue), .instant(state == .erased ? now : nil),
      .instant(asked))
  }

  package func remove(in transaction: Transaction) throws {
    try transaction.execute(
      "DELETE FROM billing.account_deletions WHERE account_id = $1 AND asked_ms = $2", .id(account),
      .instant(asked))
  }
}
