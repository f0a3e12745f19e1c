package import Accounts
package import Base
import JSON
import Requests
package import Storage

/// Another account's permission to read a log, and to append to it if its mode is `write`.
///
/// It never takes anything away: snapshots, epochs, keys and the deletion are the owner's, because each of them may
/// leave the others without what they have not read. The owner is charged for what others append.
package struct LogShare: Sendable {
  package enum State: String, CaseIterable, Sendable {
    /// Granted; the other account sees the share and the log's name, and no more.
    case pending
    case accepted
  }

  let log: Identifier
  package let account: Identifier
  let owner: Identifier
  package let mode: ShareMode
  package internal(set) var state: State
  /// The log's key, sealed for the account.
  let key: [UInt8]
  /// The owner's device key that signed the grant, and its signature.
  let author: [UInt8]
  let signature: [UInt8]
  package let granted: Instant

  /// Pending and accepted shares of one log.
  static let countMax = 256
  /// Pending and accepted shares that one account has of others' logs.
  static let receivedCountMax: Int64 = 200

  private static let columns = """
    log_id, account_id, owner_id, mode, state, share_key, author_key, signature, granted_ms
    """

  init(
    _ grant: LogGrant, of log: MessageLog, to account: Identifier, in state: State, at now: Instant
  ) {
    self.log = log.id
    self.account = account
    owner = log.owner
    mode = grant.mode
    self.state = state
    key = grant.key
    author = grant.author
    signature = grant.signature
    granted = now
  }

  private init(row: borrowing Row) throws {
    log = try row.id(0)
    account = try row.id(1)
    owner = try row.id(2)
    guard let mode = ShareMode(rawValue: try row.text(3)),
      let state = State(rawValue: try row.text(4))
    else { throw DatabaseError.statement("a share of a log is in no known state") }
    self.mode = mode
    self.state = state
    key = try row.blob(5)
    author = try row.blob(6)
    signature = try row.blob(7)
    granted = try row.instant(8)
  }

  static func find(
    _ queryable: some Queryable, _ log: Identifier, _ account: Identifier
  ) throws -> LogShare? {
    try queryable.first(
      "SELECT \(columns) FROM sync.log_shares WHERE log_id = $1 AND account_id = $2",
      .id(log), .id(account)
    ) { row in try LogShare(row: row) }
  }

  /// All shares of a log.
  package static func all(_ queryable: some Queryable, of log: Identifier) throws -> [LogShare] {
    try queryable.rows(
      "SELECT \(columns) FROM sync.log_shares WHERE log_id = $1 ORDER BY account_id", .id(log)
    ) { row in try LogShare(row: row) }
  }

  static func all(_ queryable: some Queryable, with account: Identifier) throws -> [LogShare] {
    try queryable.rows(
      """
      SELECT \(columns) FROM sync.log_shares WHERE account_id = $1
      ORDER BY state, owner_id, log_id
      """, .id(account)
    ) { row in try LogShare(row: row) }
  }

  /// The accounts being deleted whose logs an account sees.
  static func leavingOwners(
    _ queryable: some Queryable, with account: Identifier
  ) throws -> [LeavingOwner] {
    try queryable.rows(
      """
      SELECT d.account_id, d.erase_ms FROM sync.account_deletions AS d WHERE d.account_id IN (
        SELECT owner_id FROM sync.log_shares WHERE account_id = $1 AND state = 'accepted')
      ORDER BY d.account_id
      """, .id(account)
    ) { row in LeavingOwner(try row.id(0), erases: try row.optionalInstant(1)) }
  }

  /// How many pending and accepted shares an account has of others' logs.
  static func count(_ queryable: some Queryable, with account: Identifier) throws -> Int64 {
    try queryable.first(
      "SELECT count(*) FROM sync.log_shares WHERE account_id = $1", .id(account)
    ) { row in try row.integer(0) } ?? 0
  }

  /// The owner whose log an account may append to by a share, to be locked with it; nil if there is none.
  static func writableOwner(
    _ queryable: some Queryable, _ log: Identifier, for account: Identifier
  ) throws -> Identifier? {
    let share = try find(queryable, log, account)
    return share?.state == .accepted && share?.mode == .write ? share?.owner : nil
  }

  func save(_ transaction: Transaction) throws {
    try transaction.execute(
      """
      INSERT INTO sync.log_shares (\(Self.columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      ON CONFLICT (log_id, account_id) DO UPDATE SET
        mode = excluded.mode, state = excluded.state, share_key = excluded.share_key,
        author_key = excluded.author_key, signature = excluded.signature,
        granted_ms = excluded.granted_ms
      """, .id(log), .id(account), .id(owner), .text(mode.rawValue), .text(state.rawValue),
      .blob(key), .blob(author), .blob(signature), .instant(granted))
  }

  func delete(_ transaction: Transaction) throws {
    try transaction.execute(
      "DELETE FROM sync.log_shares WHERE log_id = $1 AND account_id = $2", .id(log), .id(account))
  }

  /// Ends all shares that an owner granted of a log that is deleted, and tells their accounts.
  static func deleteAll(
    _ transaction: Transaction, of log: Identifier, by owner: Identifier
  ) throws {
    for share in try all(transaction, of: log) where share.owner == owner {
      try share.delete(transaction)
      transaction.report(News(of: share.account, .logs, log))
      transaction.report(News(of: share.account, .account))
    }
  }

  /// Erases one slice of an account's shares, granted and received. Returns false if nothing was left.
  static func erase(_ transaction: Transaction, _ account: Identifier) throws -> Bool {
    try ["owner_id", "account_id"].contains { column in
      let shares = try transaction.rows(
        "SELECT \(columns) FROM sync.log_shares WHERE \(column) = $1 LIMIT $2", .id(account),
        .integer(Transaction.erasedCountMax)
      ) { row in try LogShare(row: row) }
      for share in shares {
        try share.delete(transaction)
        for party in [share.owner, share.account] where party != account {
          transaction.report(News(of: party, .logs, share.log))
          transaction.report(News(of: party, .account))
        }
      }
      return !shares.isEmpty
    }
  }

  var json: JSONValue { .object(members) }

  /// An invitation carries the log's name, which its account sees before it accepts.
  func invitation(_ name: [UInt8]) -> JSONValue {
    .object(members + [.init("name", .base64(name))])
  }

  private var members: [JSONValue.Member] {
    [
      .init("log", .string(log.description)), .init("owner", .string(owner.description)),
      .init("account", .string(account.description)), .init("mode", .string(mode.rawValue)),
      .init("state", .string(state.rawValue)), .init("key", .base64(key)),
      .init("author", .base64(author)), .init("signature", .base64(signature)),
      .init("granted", .string(granted.description)),
    ]
  }
}
