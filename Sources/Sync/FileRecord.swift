internal import Base
internal import JSON
internal import Storage

/// What the server knows of one file: structure and sizes, never a plaintext name or content.
struct FileRecord: Sendable {
  enum Kind: String, Sendable {
    case folder, document
  }

  struct Name: Sendable {
    /// The name under a key the server never sees.
    let ciphertext: [UInt8]
    /// A keyed hash of the name, so that equal names meet without being read.
    let hmac: [UInt8]
  }

  let id: Identifier
  let owner: Identifier
  let parent: Identifier
  let kind: Kind
  /// Nil for a root, and only for a root.
  let name: Name?
  /// The owner's sequence number of the latest change.
  let sequence: Int64
  /// The sequence number of the latest content; 0 before the first.
  let contentVersion: Int64
  let contentByteCount: Int64
  /// Where large content lies; nil for content kept in the database.
  let objectID: Identifier?

  static let columns = """
    id, owner_id, parent_id, kind, name, name_hmac, seq, content_version, content_bytes, object_id
    """

  init(row: borrowing Row) throws {
    id = try row.id(0)
    owner = try row.id(1)
    parent = try row.id(2)
    kind = try row.text(3) == "folder" ? .folder : .document
    if let ciphertext = try row.optionalBlob(4), let hmac = try row.optionalBlob(5) {
      name = Name(ciphertext: ciphertext, hmac: hmac)
    } else {
      name = nil
    }
    sequence = try row.integer(6)
    contentVersion = try row.integer(7)
    contentByteCount = try row.integer(8)
    objectID = try row.optionalID(9)
  }

  init(
    id: Identifier, owner: Identifier, parent: Identifier, kind: Kind, name: Name?, sequence: Int64
  ) {
    self.id = id
    self.owner = owner
    self.parent = parent
    self.kind = kind
    self.name = name
    self.sequence = sequence
    contentVersion = 0
    contentByteCount = 0
    objectID = nil
  }

  var isRoot: Bool { parent == id }

  var json: JSONValue {
    let name: JSONValue =
      self.name.map { name in
        [
          "ciphertext": .string(Base64.standard.encode(name.ciphertext)),
          "hmac": .string(Base64.standard.encode(name.hmac)),
        ]
      } ?? .null
    var members: [JSONValue.Member] = [
      .init("id", .string(id.description)), .init("owner", .string(owner.description)),
      .init("parent", .string(parent.description)), .init("type", .string(kind.rawValue)),
      .init("name", name), .init("version", .integer(sequence)),
    ]
    if kind == .document {
      members.append(
        .init(
          "content",
          ["version": .integer(contentVersion), "bytes": .integer(contentByteCount)]))
    }
    return .object(members)
  }

  /// The file, if it exists and `account` may see it.
  static func find(
    _ queryable: some Queryable, _ id: Identifier, visibleTo account: Identifier
  ) throws -> FileRecord {
    let found = try queryable.first(
      "SELECT \(columns) FROM sync.files WHERE id = $1 AND owner_id = $2", .id(id), .id(account)
    ) { row in try FileRecord(row: row) }
    // Somebody else's file answers as a missing one does, so that ids cannot be probed.
    guard let found else { throw Refusal.fileNotFound }
    return found
  }

  /// Throws where the id is taken: ids are global, so another account may have been faster.
  func insert(_ transaction: Transaction) throws {
    let count = try transaction.execute(
      """
      INSERT INTO sync.files (\(Self.columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, NULL)
      ON CONFLICT (id) DO NOTHING
      """,
      .id(id), .id(owner), .id(parent), .text(kind.rawValue),
      name.map { .blob($0.ciphertext) } ?? .null, name.map { .blob($0.hmac) } ?? .null,
      .integer(sequence))
    guard count == 1 else { throw Refusal.fileExists }
  }
}
