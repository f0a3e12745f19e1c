package import Accounts
import Base
import JSON
import Requests
import Storage

/// An account's access to another owner's file and, once accepted, to everything below it.
package struct Share: Sendable {
  package typealias Mode = ShareMode

  /// Rows are kept while their file lives, as a record of how access ended.
  package enum State: String, CaseIterable, Sendable {
    /// Granted; the sharee sees this one record.
    case pending
    /// The sharee has placed a link to the file.
    case accepted
    case rejected, revoked

    package var isLive: Bool { self == .pending || self == .accepted }
  }

  let file: Identifier
  let account: Identifier
  let owner: Identifier
  var mode: Mode
  var state: State
  /// The file's key, sealed for the sharee; nil once access has ended.
  var key: [UInt8]?
  var author: FileRecord.Author
  /// The sharee's sequence number of the latest change. All accounts that see the share hold the same number.
  private(set) var version: Int64
  /// The sharee's sequence number under which it is sent: a later one if it was sent again.
  private(set) var sequence: Int64

  static let columns = """
    file_id, account_id, owner_id, mode, state, share_key, author_key, signature, seq, version
    """

  /// The same columns of a table under another name.
  static let joinedColumns = """
    s.file_id, s.account_id, s.owner_id, s.mode, s.state, s.share_key, s.author_key, s.signature, \
    s.seq, s.version
    """

  init(
    file: Identifier, account: Identifier, owner: Identifier, mode: Mode, state: State,
    key: [UInt8]?, author: FileRecord.Author, sequence: Int64
  ) {
    self.file = file
    self.account = account
    self.owner = owner
    self.mode = mode
    self.state = state
    self.key = key
    self.author = author
    self.sequence = sequence
    version = sequence
  }

  init(row: borrowing Row) throws {
    file = try row.id(0)
    account = try row.id(1)
    owner = try row.id(2)
    guard let mode = Mode(rawValue: try row.text(3)), let state = State(rawValue: try row.text(4))
    else { throw DatabaseError.statement("a share is in no known state") }
    self.mode = mode
    self.state = state
    key = try row.optionalBlob(5)
    author = FileRecord.Author(key: try row.blob(6), signature: try row.blob(7))
    sequence = try row.integer(8)
    version = try row.integer(9)
  }

  /// Changes the state as of a number of the sharee's sequence.
  mutating func become(_ state: State, at number: Int64) {
    self.state = state
    version = number
    sequence = number
  }

  var json: JSONValue {
    [
      "file": .string(file.description), "owner": .string(owner.description),
      "account": .string(account.description), "mode": .string(mode.rawValue),
      "state": .string(state.rawValue), "key": .base64(key), "author": .base64(author.key),
      "signature": .base64(author.signature), "version": .integer(version),
    ]
  }

  /// The accounts with a share of the file in a live state. Invited ones see its changes and maybe nothing else.
  static func accounts(
    _ queryable: some Queryable, of file: Identifier, in state: State
  ) throws -> [Identifier] {
    try queryable.ids(
      """
      SELECT account_id FROM sync.shares
      WHERE file_id = $1 AND state IN ('pending', 'accepted') AND state = $2 ORDER BY account_id
      """, .id(file), .text(state.rawValue))
  }

  static func find(
    _ queryable: some Queryable, _ file: Identifier, _ account: Identifier
  ) throws -> Share? {
    try queryable.first(
      "SELECT \(columns) FROM sync.shares WHERE file_id = $1 AND account_id = $2",
      .id(file), .id(account)
    ) { row in try Share(row: row) }
  }

  /// The account's shares of others' files in the order of their last changes.
  static func changed(
    _ reader: Reader, of account: Identifier, after number: Int64, limit: Int64
  ) throws -> [Share] {
    try reader.rows(
      """
      SELECT \(columns) FROM sync.shares WHERE account_id = $1 AND seq > $2 ORDER BY seq LIMIT $3
      """, .id(account), .integer(number), .integer(limit)
    ) { row in try Share(row: row) }
  }

  /// The shares of a file that `reader` may see: all for the owner, otherwise its own.
  static func of(
    _ file: FileRecord, visibleTo reader: Identifier, _ queryable: some Queryable
  ) throws -> [Share] {
    guard reader == file.owner else {
      return try find(queryable, file.id, reader).map { [$0] } ?? []
    }
    return try queryable.rows(
      "SELECT \(columns) FROM sync.shares WHERE file_id = $1 ORDER BY account_id", .id(file.id)
    ) { row in try Share(row: row) }
  }

  func save(_ transaction: Transaction, now: Instant) throws {
    try transaction.execute(
      """
      INSERT INTO sync.shares (\(Self.columns), changed_ms)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
      ON CONFLICT (file_id, account_id) DO UPDATE SET
        mode = excluded.mode, state = excluded.state, share_key = excluded.share_key,
        author_key = excluded.author_key, signature = excluded.signature, seq = excluded.seq,
        version = excluded.version, changed_ms = excluded.changed_ms
      """,
      .id(file), .id(account), .id(owner), .text(mode.rawValue), .text(state.rawValue), .blob(key),
      .blob(author.key), .blob(author.signature), .integer(sequence),
      .integer(version), .instant(now))
  }
}
