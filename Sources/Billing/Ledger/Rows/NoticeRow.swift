package import Base
internal import Crypto
package import Storage

/// What an app was told, or is to be told, of an account: its body as it was when something had changed.
package struct NoticeRow: Sendable {
  package let account: Identifier
  /// Counts from 1 for each account: the order in which they are sent.
  package let number: Int64
  /// `webhook-id`: the same however often it is sent.
  package let id: String
  package let made: Instant
  package let body: String
  /// How often it was sent since it was made or sent again on purpose; all but a last one in vain.
  package let attempts: Int64
  /// When it is sent next; nil once it arrived or was given up.
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

  /// The first of an account's that is still to be sent.
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

  /// The last thing that was told, or is to be told.
  package static func last(
    of account: Identifier, reading database: some Queryable
  ) throws -> NoticeRow? {
    try database.first(
      """
      SELECT \(columns) FROM billing.notices WHERE account_id = $1 ORDER BY number DESC LIMIT 1
      """, .id(account)
    ) { row in try NoticeRow(row) }
  }

  /// The newest first, behind one; at most `limit`.
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

  /// How many there are in all, counted up to `limit`.
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

  /// Adds one behind `last`, due at once, and drops what is older than a month.
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

  /// `next` is when it is sent again; nil: never.
  package func failed(
    _ error: String, next: Instant?, in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      UPDATE billing.notices SET due_ms = $3, last_error = $4, attempts = attempts + 1
      WHERE account_id = $1 AND number = $2
      """, .id(account), .integer(number), .instant(next), .text(error))
  }

  /// Has those that were made since a moment sent again, whether they arrived or not; at most `limit`
  /// accounts at a time, those behind `after`. Returns the last of them and how many notices it were.
  package static func replay(
    since moment: Instant, of account: Identifier?, after: Identifier?, limit: Int,
    at now: Instant, in transaction: Transaction
  ) throws -> (last: Identifier?, count: Int64) {
    let accounts: [Identifier]
    if let account {
      accounts = after == nil ? [account] : []
    } else {
      accounts = try transaction.rows(
        """
        SELECT DISTINCT account_id FROM billing.notices WHERE made_ms >= $1 AND account_id > $2
        ORDER BY account_id LIMIT $3
        """, .instant(moment), after.map { .id($0) } ?? .blob([]), .integer(Int64(limit))
      ) { row in try row.id(0) }
    }
    var count: Int64 = 0
    for account in accounts {
      count += Int64(
        try transaction.execute(
          """
          UPDATE billing.notices SET due_ms = $3, attempts = 0
          WHERE account_id = $1 AND made_ms >= $2
          """, .id(account), .instant(moment), .instant(now)))
      try Notices.request(account, at: now, in: transaction)
    }
    return (accounts.last, count)
  }
}
