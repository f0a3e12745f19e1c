package import Base
import Crypto
package import Storage

/// A notice to an app about an account, sent or waiting. Its body is from the time of a change.
package struct NoticeRow: Sendable {
  package let account: Identifier
  /// Counts from 1 for each account, in the order of sending.
  package let number: Int64
  /// `webhook-id`: the same for every attempt.
  package let id: String
  package let made: Instant
  package let body: String
  /// The number of attempts since it was made, or sent again on purpose. All but perhaps the last failed.
  package let attempts: Int64
  /// When it is sent next; nil once it has arrived or failed permanently.
  package let due: Instant?
  package let delivered: Instant?
  package let lastError: String?

  private static let columns =
    "account_id, number, id, made_ms, body, attempts, due_ms, delivered_ms, last_error"

  private init(_ row: borrowing Row) throws {
    account = try row.id(0)
    number = try row.integer(1)
    id = try row.text(2)
    made = try row.instant(3)
    body = try row.text(4)
    attempts = try row.integer(5)
    due = try row.optionalInstant(6)
    delivered = try row.optionalInstant(7)
    lastError = try row.optionalText(8)
  }

  /// The first notice of an account that must still be sent.
  package static func waiting(
    for account: Identifier, reading database: some Queryable
  ) throws -> NoticeRow? {
    try database.first(
      """
      SELECT \(columns) FROM billing.notices WHERE account_id = $1 AND due_ms IS NOT NULL
      ORDER BY number LIMIT 1
      """, .id(account)
    ) { row in try NoticeRow(row) }
  }

  /// The last notice of an account, sent or waiting.
  package static func last(
    of account: Identifier, reading database: some Queryable
  ) throws -> NoticeRow? {
    try database.first(
      """
      SELECT \(columns) FROM billing.notices WHERE account_id = $1 ORDER BY number DESC LIMIT 1
      """, .id(account)
    ) { row in try NoticeRow(row) }
  }

  /// Notices before `last`, newest first; at most `limit`.
  package static func all(
    of account: Identifier?, onlyWaiting: Bool, before last: NoticeRow?, limit: Int,
    reading database: some Queryable
  ) throws -> [NoticeRow] {
    var (filter, values) = filter(of: account, onlyWaiting: onlyWaiting, before: last)
    values.append(.integer(Int64(limit)))
    return try database.rows(
      """
      SELECT \(columns) FROM billing.notices \(filter)
      ORDER BY made_ms DESC, account_id DESC, number DESC LIMIT $\(values.count)
      """, values: values
    ) { row in try NoticeRow(row) }
  }

  /// The number of all notices, counted up to `limit`.
  package static func count(
    of account: Identifier?, onlyWaiting: Bool, upTo limit: Int64,
    reading database: some Queryable
  ) throws -> Int64 {
    var (filter, values) = filter(of: account, onlyWaiting: onlyWaiting, before: nil)
    values.append(.integer(limit))
    return try database.rows(
      """
      SELECT count(*) FROM (
        SELECT 1 FROM billing.notices \(filter) LIMIT $\(values.count)
      ) AS counted
      """, values: values
    ) { row in try row.integer(0) }.first ?? 0
  }

  private static func filter(
    of account: Identifier?, onlyWaiting: Bool, before last: NoticeRow?
  ) -> (sql: String, values: [SQLValue]) {
    var conditions: [String] = []
    var values: [SQLValue] = []
    func take(_ value: SQLValue) -> String {
      values.append(value)
      return "$\(values.count)"
    }
    if let account { conditions.append("account_id = \(take(.id(account)))") }
    if onlyWaiting { conditions.append("due_ms IS NOT NULL") }
    if let last {
      conditions.append(
        "(made_ms, account_id, number) < (\(take(.instant(last.made))), "
          + "\(take(.id(last.account))), \(take(.integer(last.number))))")
    }
    let sql = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
    return (sql, values)
  }

  package static func find(
    _ id: String, of account: Identifier, reading database: some Queryable
  ) throws -> NoticeRow? {
    try database.first(
      "SELECT \(columns) FROM billing.notices WHERE account_id = $1 AND id = $2", .id(account),
      .text(id)
    ) { row in try NoticeRow(row) }
  }

  /// How long a notice can be sent again.
  package static let keptSpan = Instant.Span.days(30)

  /// Adds a notice after `last`, due at once, and deletes delivered ones older than `keptSpan`.
  package static func add(
    _ body: String, of account: Identifier, after last: NoticeRow?, at now: Instant,
    in transaction: Transaction
  ) throws {
    let number = (last?.number ?? 0) + 1
    try transaction.execute(
      "DELETE FROM billing.notices WHERE account_id = $1 AND made_ms < $2 AND due_ms IS NULL",
      .id(account), .instant(now - keptSpan))
    try transaction.execute(
      """
      INSERT INTO billing.notices (account_id, number, id, made_ms, body, attempts, due_ms)
      VALUES ($1, $2, $3, $4, $5, 0, $4) ON CONFLICT (account_id, number) DO NOTHING
      """, .id(account), .integer(number), .text("msg_" + Hex.encode(Random.bytes(16))),
      .instant(now), .text(body))
  }

  package func arrived(at now: Instant, in transaction: Transaction) throws {
    try transaction.execute(
      """
      UPDATE billing.notices
      SET due_ms = NULL, delivered_ms = $3, last_error = NULL, attempts = attempts + 1
      WHERE account_id = $1 AND number = $2
      """, .id(account), .integer(number), .instant(now))
  }

  /// `next` is when it is sent again; nil if never.
  package func failed(
    _ error: String, next: Instant?, in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      UPDATE billing.notices SET due_ms = $3, last_error = $4, attempts = attempts + 1
      WHERE account_id = $1 AND number = $2
      """, .id(account), .integer(number), .instant(next), .text(error))
  }

  /// Makes notices since `moment` due again, whether they arrived or not. Returns their number.
  package static func replay(
    since moment: Instant, of account: Identifier?, at now: Instant, in transaction: Transaction
  ) throws -> Int64 {
    var (accounts, count) = (account.map { [$0] } ?? [], Int64(0))
    repeat {
      if account == nil {
        accounts = try transaction.rows(
          """
          SELECT DISTINCT account_id FROM billing.notices WHERE made_ms >= $1 AND account_id > $2
          ORDER BY account_id LIMIT 500
          """, .instant(moment), accounts.last.map { .id($0) } ?? .blob([])
        ) { row in try row.id(0) }
      }
      for account in accounts {
        count += Int64(
          try transaction.execute(
            """
            UPDATE billing.notices SET due_ms = $3, attempts = 0
            WHERE account_id = $1 AND made_ms >= $2
            """, .id(account), .instant(moment), .instant(now)))
        try Notices.request(account, at: now, in: transaction)
      }
    } while account == nil && !accounts.isEmpty
    return count
  }
}
