import Base
import JSON
import Storage

/// A budget as clients of Actual know it, and the log that holds it. Its id is the client's, unique in the account.
struct ActualFile: Sendable {
  let owner: Identifier
  let file: String
  let log: Identifier
  let name: String
  /// The log's epoch that takes messages; nil since a reset, until a client uploads the budget again.
  let group: Identifier?
  let format: Int64
  /// The key that clients encrypt with, as far as the server may know it; nil if they do not.
  let key: Key?
  /// How the snapshot is encrypted, as JSON of the client that uploaded it.
  let meta: Meta?

  struct Key: Sendable {
    let id: String
    let salt: String
    let test: String
  }

  struct Meta: Sendable {
    let text: String
    let key: String
  }

  /// Earlier formats have no messages.
  private static let formatMin: Int64 = 2
  static let nameByteCountMax = NewLog.nameByteCountMax
  static let metaByteCountMax = 1024
  /// The longest name of a key, its salt, and its test content.
  static let keyByteCountMax = 256
  static let testByteCountMax = 4096
  private static let idByteCountMax = 256
  private static let columns = """
    owner_id, file, log_id, name, group_id, format, key_id, key_salt, key_test, meta, meta_key
    """

  private init(row: borrowing Row) throws {
    owner = try row.id(0)
    file = try row.text(1)
    log = try row.id(2)
    name = try row.text(3)
    group = try row.optionalID(4)
    format = try row.integer(5)
    key =
      if let id = try row.optionalText(6) {
        Key(id: id, salt: try row.optionalText(7) ?? "", test: try row.optionalText(8) ?? "")
      } else {
        nil
      }
    meta =
      if let text = try row.optionalText(9) {
        Meta(text: text, key: try row.optionalText(10) ?? "")
      } else {
        nil
      }
  }

  static func isID(_ text: String) -> Bool {
    1...idByteCountMax ~= text.utf8.count
      && text.utf8.allSatisfy { byte in
        TimestampText.isNode(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
      }
  }

  static func find(
    _ queryable: some Queryable, _ file: String, of owner: Identifier
  ) throws -> ActualFile? {
    try queryable.first(
      "SELECT \(columns) FROM sync.actual_files WHERE owner_id = $1 AND file = $2", .id(owner),
      .text(file)
    ) { row in try ActualFile(row: row) }
  }

  /// The file that a request names. One of another account is not told from one that does not exist.
  static func require(
    _ queryable: some Queryable, _ file: String?, of owner: Identifier,
    otherwise refusal: ActualRefusal
  ) throws -> ActualFile {
    guard let file, isID(file) else { throw ActualRefusal.fileInvalid }
    guard let found = try find(queryable, file, of: owner) else { throw refusal }
    return found
  }

  static func all(_ queryable: some Queryable, of owner: Identifier) throws -> [ActualFile] {
    try queryable.rows(
      "SELECT \(columns) FROM sync.actual_files WHERE owner_id = $1 ORDER BY file", .id(owner)
    ) { row in try ActualFile(row: row) }
  }

  /// Refuses to upload over a file from another state of it.
  func requireUpload(ofGroup group: String?, key: String?) throws(ActualRefusal) {
    guard group == self.group?.description else { throw .fileHasReset }
    guard key == self.key?.id else { throw .fileHasNewKey }
  }

  /// Refuses to exchange messages with a client that has another state of the file.
  func require(_ sync: ActualSync) throws(ActualRefusal) {
    guard format >= Self.formatMin else { throw .fileOldVersion }
    guard let group else { throw .fileNeedsUpload }
    guard meta?.key == key?.id else { throw .fileKeyMismatch }
    guard sync.group == group.description else { throw .fileHasReset }
    guard sync.key == key?.id else { throw .fileHasNewKey }
  }

  var members: [JSONValue.Member] {
    [
      .init("deleted", 0), .init("fileId", .string(file)),
      .init("groupId", group.map { .string($0.description) } ?? .null),
      .init("name", .string(name)),
    ]
  }

  var users: JSONValue.Member {
    let user: JSONValue = [
      "userId": .string(owner.description), "displayName": "", "userName": "", "owner": true,
    ]
    return .init("usersWithAccess", [user])
  }

  struct Uploaded: Sendable {
    let file: String
    let name: String
    let format: Int64
    let meta: Meta?
  }

  /// Writes what an upload says, with the epoch that takes messages from now on. A known file keeps its key. The log,
  /// which must be there, gets the file's name.
  static func save(
    _ uploaded: Uploaded, of owner: Identifier, log: Identifier, group: Identifier,
    key: Key? = nil, _ transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO sync.actual_files (\(columns))
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
      ON CONFLICT (owner_id, file) DO UPDATE SET name = excluded.name,
        group_id = excluded.group_id, format = excluded.format, meta = excluded.meta,
        meta_key = excluded.meta_key
      """, .id(owner), .text(uploaded.file), .id(log), .text(uploaded.name), .id(group),
      .integer(uploaded.format), .text(key?.id), .text(key?.salt), .text(key?.test),
      .text(uploaded.meta?.text), .text(uploaded.meta?.key))
    try setName(uploaded.name, ofLog: log, transaction)
    try transaction.execute(
      """
      DELETE FROM sync.actual_epochs WHERE log_id = $1 AND NOT EXISTS (
        SELECT 1 FROM sync.log_epochs WHERE id = epoch_id AND (purge_ms IS NULL OR kept = 1))
      """, .id(log))
    try transaction.execute(
      """
      INSERT INTO sync.actual_epochs
        (epoch_id, log_id, owner_id, format, key_id, key_salt, key_test, meta, meta_key)
      SELECT group_id, log_id, owner_id, format, key_id, key_salt, key_test, meta, meta_key
      FROM sync.actual_files WHERE owner_id = $1 AND file = $2
      ON CONFLICT (epoch_id) DO UPDATE SET format = excluded.format, key_id = excluded.key_id,
        key_salt = excluded.key_salt, key_test = excluded.key_test, meta = excluded.meta,
        meta_key = excluded.meta_key
      """, .id(owner), .text(uploaded.file))
  }

  func reset(_ transaction: Transaction) throws {
    try transaction.execute(
      "UPDATE sync.actual_files SET group_id = NULL WHERE owner_id = $1 AND file = $2", .id(owner),
      .text(file))
  }

  func rename(_ name: String, _ transaction: Transaction) throws {
    try transaction.execute(
      "UPDATE sync.actual_files SET name = $3 WHERE owner_id = $1 AND file = $2", .id(owner),
      .text(file), .text(name))
    try Self.setName(name, ofLog: log, transaction)
  }

  private static func setName(
    _ name: String, ofLog log: Identifier, _ transaction: Transaction
  ) throws {
    try transaction.execute(
      "UPDATE sync.logs SET name = $2 WHERE id = $1", .id(log), .blob(Array(name.utf8)))
  }

  func setKey(_ key: Key, _ transaction: Transaction) throws {
    try transaction.execute(
      """
      UPDATE sync.actual_files SET key_id = $3, key_salt = $4, key_test = $5
      WHERE owner_id = $1 AND file = $2
      """, .id(owner), .text(file), .text(key.id), .text(key.salt), .text(key.test))
  }
}
