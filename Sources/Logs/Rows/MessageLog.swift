package import Base
import Accounts
import Crypto
import JSON
import Requests
package import Storage

/// A log, and its epoch that takes messages.
package struct MessageLog: Sendable {
  package let id: Identifier
  let owner: Identifier
  package let epoch: Identifier
  /// Ciphertext for the account's devices.
  let name: [UInt8]
  let key: [UInt8]?
  package let created: Instant
  /// The number of the latest message, too.
  package let messageCount: Int64
  /// The charge for the messages.
  package let byteCount: Int64
  /// The latest timestamp of what a snapshot stands for. Only later ones are appended.
  package let horizon: LogTimestamp?
  /// The newest that a device may begin with.
  package let snapshot: LogSnapshot?

  static let countMax: Int64 = 200
  /// The most that one epoch holds. A device that joins reads all of it.
  static let messageCountMax: Int64 = 1_000_000
  static let byteCountMax: Int64 = 400_000_000

  private static let columns = """
    l.id, l.owner_id, l.epoch_id, l.name, l.key, l.created_ms, e.message_count, e.bytes,
      e.horizon, \(LogSnapshot.columns)
    FROM sync.logs l JOIN sync.log_epochs e ON e.id = l.epoch_id
      LEFT JOIN sync.log_snapshots s ON s.object_id = e.snapshot_id
    """

  private init(row: borrowing Row) throws {
    id = try row.id(0)
    owner = try row.id(1)
    epoch = try row.id(2)
    name = try row.blob(3)
    key = try row.optionalBlob(4)
    created = try row.instant(5)
    messageCount = try row.integer(6)
    byteCount = try row.integer(7)
    horizon = try row.optionalBlob(8) == nil ? nil : row.timestamp(8)
    snapshot = try LogSnapshot(row: row, at: 9)
  }

  package var snapshotByteCount: Int64 { snapshot?.byteCount ?? 0 }

  /// The charge for the messages and the snapshot.
  package var chargedByteCount: Int64 { byteCount + snapshotByteCount }

  /// The number of the message that a cursor stands behind.
  func number(at cursor: LogCursor, _ queryable: some Queryable) throws -> Int64 {
    guard try cursor.history == History.current(queryable).id else {
      throw LogRefusal.historyChanged
    }
    guard cursor.epoch == epoch else { throw LogRefusal.epochChanged(current: epoch) }
    guard 0...messageCount ~= cursor.number else { throw LogRefusal.cursorInvalid }
    return cursor.number
  }

  /// A log of an account. Others' logs are not told from those that do not exist.
  package static func find(
    _ queryable: some Queryable, _ id: Identifier, for account: Identifier
  ) throws -> MessageLog {
    let found = try queryable.first(
      "SELECT \(columns) WHERE l.id = $1 AND l.owner_id = $2", .id(id), .id(account)
    ) { row in try MessageLog(row: row) }
    guard let found else { throw LogRefusal.logNotFound }
    return found
  }

  /// The account that has a log of this id; nil if there is none.
  package static func owner(_ queryable: some Queryable, of id: Identifier) throws -> Identifier? {
    try queryable.first("SELECT owner_id FROM sync.logs WHERE id = $1", .id(id)) { row in
      try row.id(0)
    }
  }

  /// All logs of an account, the oldest first.
  package static func all(_ queryable: some Queryable, of account: Identifier) throws
    -> [MessageLog]
  {
    try queryable.rows(
      "SELECT \(columns) WHERE l.owner_id = $1 ORDER BY l.created_ms, l.id", .id(account)
    ) { row in try MessageLog(row: row) }
  }

  /// Writes a log with an empty epoch, and returns that. Nil if there is a log of this id.
  static func insert(
    _ transaction: Transaction, _ id: Identifier, of owner: Identifier, name: [UInt8],
    key: [UInt8]?, created: Instant, horizon: LogTimestamp? = nil
  ) throws -> Identifier? {
    let epoch = Random.identifier()
    let count = try transaction.execute(
      """
      INSERT INTO sync.logs (id, owner_id, epoch_id, name, key, created_ms)
      VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING
      """, .id(id), .id(owner), .id(epoch), .blob(name), .blob(key), .instant(created))
    guard count == 1 else { return nil }
    try insertEpoch(transaction, epoch, of: id, owner, horizon: horizon, snapshot: nil)
    return epoch
  }

  static func insertEpoch(
    _ transaction: Transaction, _ epoch: Identifier, of log: Identifier, _ owner: Identifier,
    horizon: LogTimestamp?, snapshot: Identifier?
  ) throws {
    try transaction.execute(
      """
      INSERT INTO sync.log_epochs (id, owner_id, log_id, message_count, bytes, horizon, snapshot_id)
      VALUES ($1, $2, $3, 0, 0, $4, $5)
      """, .id(epoch), .id(owner), .id(log), .blob(horizon?.bytes), .id(snapshot))
  }

  /// Counts messages that were added to an epoch.
  static func count(
    _ transaction: Transaction, _ added: Int64, byteCount: Int64, in epoch: Identifier
  ) throws {
    try transaction.execute(
      """
      UPDATE sync.log_epochs SET message_count = message_count + $2, bytes = bytes + $3
      WHERE id = $1
      """, .id(epoch), .integer(added), .integer(byteCount))
  }

  /// What answers say of a log to its owner, or to an account that sees it by a share, with the key for its devices.
  func members(
    _ queryable: some Queryable, by share: LogShare? = nil
  ) throws -> [JSONValue.Member] {
    let history = try History.current(queryable).id
    return [
      .init("id", .string(id.description)), .init("owner", .string(owner.description)),
      .init("access", .string(share?.mode.rawValue ?? "owner")),
      .init("epoch", .string(epoch.description)), .init("name", .base64(name)),
      .init("key", .base64(share?.key ?? key)),
      .init("created", .string(created.description)), .init("messages", .integer(messageCount)),
      .init("bytes", .integer(byteCount)),
      .init("horizon", horizon.map { .string($0.description) } ?? .null),
      .init("snapshot", snapshot?.json(in: epoch, history) ?? .null),
    ]
  }
}
