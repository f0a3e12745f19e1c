import Accounts
package import Base
package import Requests
package import Storage

/// An account's deletion: requested, exported first if the operator wants that, cancellable while it waits, then
/// carried out slice by slice. The account can be read and exported until it is erased. Nothing can be written from
/// the request on.
package struct AccountDeletion: Sendable, Equatable {
  package let account: Identifier
  package let asked: Instant
  /// When it is erased and can no longer be cancelled; nil until it is exported.
  package let erases: Instant?
  package let begun: Instant?
  package let erased: Instant?
  /// When an operator blocked the account's writes, regardless of the deletion; nil if never.
  package let suspended: Instant?
  /// Whether another Coffer now has the account, so that no store is asked to stop billing.
  package let hasMoved: Bool

  package enum State: String, Sendable {
    case exporting, waiting, erasing, erased
  }

  package var state: State {
    if erased != nil { return .erased }
    if begun != nil { return .erasing }
    return erases == nil ? .exporting : .waiting
  }

  private static let columns = """
    account_id, asked_ms, erase_ms, begun_ms, erased_ms, suspended_ms, moved
    """

  private init(_ row: borrowing Row) throws {
    account = try row.id(0)
    asked = try row.instant(1)
    erases = try row.optionalInstant(2)
    begun = try row.optionalInstant(3)
    erased = try row.optionalInstant(4)
    suspended = try row.optionalInstant(5)
    hasMoved = try row.integer(6) == 1
  }

  package static func find(
    _ account: Identifier, reading database: some Queryable
  ) throws -> AccountDeletion? {
    try database.first(
      "SELECT \(columns) FROM sync.account_deletions WHERE account_id = $1", .id(account)
    ) { row in try AccountDeletion(row) }
  }

  /// The deletion, in a transaction that locks out requests and cancellations.
  package static func locked(
    _ account: Identifier, in transaction: Transaction
  ) throws -> AccountDeletion? {
    try lock(account, in: transaction) ? try find(account, reading: transaction) : nil
  }

  /// The row's UPDATE is its lock, so cancelling and erasing wait. Returns false if there is no such account.
  private static func lock(_ account: Identifier, in transaction: Transaction) throws -> Bool {
    try transaction.execute(
      "UPDATE sync.accounts SET seq = seq WHERE id = $1", .id(account)) == 1
  }

  /// Deletions after `last`, newest first.
  package static func all(
    after last: AccountDeletion?, limit: Int, reading database: some Queryable
  ) throws -> [AccountDeletion] {
    try database.rows(
      """
      SELECT \(columns) FROM sync.account_deletions
      WHERE asked_ms < $1 OR asked_ms = $1 AND account_id < $2
      ORDER BY asked_ms DESC, account_id DESC LIMIT $3
      """, .instant(last?.asked ?? .distantFuture),
      .id(last?.account ?? Identifier(high: 0, low: 0)), .integer(Int64(limit))
    ) { row in try AccountDeletion(row) }
  }

  /// The number of deletions. It counts rows, so only operators may ask for it.
  package static func count(reading database: some Queryable) throws -> Int64 {
    try database.number("SELECT count(*) FROM sync.account_deletions")
  }

  /// Requests a deletion and blocks the account's writes. A deletion already requested stays as it is.
  /// Without a moment the account is erased once it is exported. Returns false if there is no such account.
  package static func ask(
    for account: Identifier, erasing moment: Instant?, by asker: Departure.Asker,
    hasMoved: Bool = false, at now: Instant, in transaction: Transaction
  ) throws -> Bool {
    guard try lock(account, in: transaction) else { return false }
    let count = try transaction.execute(
      """
      INSERT INTO sync.account_deletions
        (account_id, asked_ms, erase_ms, suspended_ms, moved, asked_by)
      SELECT id, $2, $3, suspended_ms, $4, $5 FROM sync.accounts WHERE id = $1
      ON CONFLICT (account_id) DO NOTHING
      """, .id(account), .instant(now), .instant(moment), .integer(hasMoved ? 1 : 0),
      .text(asker.rawValue))
    guard count == 1 else { return true }
    try transaction.execute(
      "UPDATE sync.accounts SET suspended_ms = coalesce(suspended_ms, $2) WHERE id = $1",
      .id(account), .instant(now))
    report(account, in: transaction)
    return true
  }

  /// Tells all who see the account's tree, a log or a chain of it: their updates and lists say who is leaving.
  private static func report(_ account: Identifier, in transaction: Transaction) {
    for topic in [News.Topic.account, .tree, .logs, .chains] {
      transaction.report(News(of: account, topic))
    }
  }

  /// Records that the account is exported. Returns false if no deletion waits for an export.
  package static func exported(
    _ account: Identifier, erasing moment: Instant, in transaction: Transaction
  ) throws -> Bool {
    try change(account, "erase_ms", to: moment, where: "erase_ms IS NULL", in: transaction)
  }

  /// Brings the deletion forward. Returns false if none waits, or erasing has begun.
  package static func hasten(
    _ account: Identifier, erasing moment: Instant, in transaction: Transaction
  ) throws -> Bool {
    try change(account, "erase_ms", to: moment, where: "begun_ms IS NULL", in: transaction)
  }

  /// Sets whether the account is suspended once its deletion is cancelled: since `moment`, or not if it is nil.
  /// Returns false if nothing changed, or erasing has begun.
  package static func suspend(
    _ account: Identifier, since moment: Instant?, in transaction: Transaction
  ) throws -> Bool {
    let changes = moment == nil ? "IS NOT NULL" : "IS NULL"
    return try change(
      account, "suspended_ms", to: moment, where: "begun_ms IS NULL AND suspended_ms \(changes)",
      in: transaction)
  }

  private static func change(
    _ account: Identifier, _ column: String, to moment: Instant?, where condition: String,
    in transaction: Transaction
  ) throws -> Bool {
    report(account, in: transaction)
    return try transaction.execute(
      """
      UPDATE sync.account_deletions SET \(column) = $2 WHERE account_id = $1 AND \(condition)
      """, .id(account), .instant(moment)) == 1
  }

  /// Cancels the deletion. Returns false if none waits, or erasing has begun.
  package static func cancel(
    _ account: Identifier, in transaction: Transaction
  ) throws -> Bool {
    _ = try lock(account, in: transaction)
    let suspended: Instant?? = try transaction.first(
      """
      DELETE FROM sync.account_deletions WHERE account_id = $1 AND begun_ms IS NULL
      RETURNING suspended_ms
      """, .id(account)
    ) { row in try row.optionalInstant(0) }
    guard let suspended else { return false }
    try transaction.execute(
      "UPDATE sync.accounts SET suspended_ms = $2 WHERE id = $1", .id(account),
      .instant(suspended))
    report(account, in: transaction)
    return true
  }
}

extension Account {
  /// When an operator blocked the account's writes. While a deletion waits, the account's
  /// `suspended` belongs to the deletion, which keeps the operator's own.
  package func suspended(beside deletion: AccountDeletion?) -> Instant? {
    deletion.map { $0.suspended } ?? suspended
  }
}
