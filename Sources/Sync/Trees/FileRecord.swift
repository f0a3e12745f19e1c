internal import Base
internal import JSON
internal import Storage

/// What the server knows of one file: structure and sizes, never a plaintext name or content.
struct FileRecord: Sendable {
  enum Kind: String, CaseIterable, Sendable {
    case folder, document, link
  }

  struct Name: Sendable, Equatable {
    /// The name under a key the server never sees.
    let ciphertext: [UInt8]
    /// A keyed hash of the name, so that equal names meet without being read.
    let hmac: [UInt8]

    var json: JSONValue {
      [
        "ciphertext": .string(Base64.standard.encode(ciphertext)),
        "hmac": .string(Base64.standard.encode(hmac)),
      ]
    }
  }

  /// Who said that the record is as it is.
  struct Author: Sendable {
    let key: [UInt8]
    let signature: [UInt8]
  }

  let id: Identifier
  let owner: Identifier
  let parent: Identifier
  let kind: Kind
  let target: Identifier?
  /// Nil for a root, and only for a root.
  let name: Name?
  let key: [UInt8]?
  let author: Author?
  /// The owner's sequence number of the latest change.
  let sequence: Int64
  /// The sequence number of the latest content; 0 before the first.
  let contentVersion: Int64
  let contentByteCount: Int64
  /// Where large content lies; nil for content kept in the database.
  let objectID: Identifier?
  /// The explicit mark; a file beneath a deleted folder is deleted without it.
  var isDeleted: Bool
  /// The folder whose deletion took this file along, where its author did not delete it.
  var deletedWith: Identifier?

  static let columns = """
    id, owner_id, parent_id, kind, target_id, name, name_hmac, file_key, author_key, signature, \
    seq, content_version, content_bytes, object_id, deleted, deleted_with
    """

  init(row: borrowing Row) throws {
    id = try row.id(0)
    owner = try row.id(1)
    parent = try row.id(2)
    guard let kind = Kind(rawValue: try row.text(3)) else {
      throw DatabaseError.statement("a file is of no known type")
    }
    self.kind = kind
    target = try row.optionalID(4)
    if let ciphertext = try row.optionalBlob(5), let hmac = try row.optionalBlob(6) {
      name = Name(ciphertext: ciphertext, hmac: hmac)
    } else {
      name = nil
    }
    key = try row.optionalBlob(7)
    if let key = try row.optionalBlob(8), let signature = try row.optionalBlob(9) {
      author = Author(key: key, signature: signature)
    } else {
      author = nil
    }
    sequence = try row.integer(10)
    contentVersion = try row.integer(11)
    contentByteCount = try row.integer(12)
    objectID = try row.optionalID(13)
    isDeleted = try row.integer(14) == 1
    deletedWith = try row.optionalID(15)
  }

  var isRoot: Bool { parent == id }

  /// As one reader sees it: an owner with every share, a sharee with its own.
  func json(shares: [Share]) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init("id", .string(id.description)), .init("owner", .string(owner.description)),
      .init("parent", .string(parent.description)), .init("type", .string(kind.rawValue)),
      .init("name", name.map(\.json) ?? .null), .init("key", .base64(key)),
      .init("deleted", .bool(isDeleted)), .init("version", .integer(sequence)),
      .init("author", .base64(author?.key)), .init("signature", .base64(author?.signature)),
    ]
    if let target { members.append(.init("target", .string(target.description))) }
    if let deletedWith {
      members.append(.init("deleted_with", .string(deletedWith.description)))
    }
    if kind == .document {
      members.append(
        .init(
          "content",
          ["version": .integer(contentVersion), "bytes": .integer(contentByteCount)]))
    }
    if !shares.isEmpty { members.append(.init("shares", .array(shares.map(\.json)))) }
    return .object(members)
  }

  static func find(_ queryable: some Queryable, _ id: Identifier) throws -> FileRecord? {
    try queryable.first(
      "SELECT \(columns) FROM sync.files WHERE id = $1", .id(id)
    ) { row in try FileRecord(row: row) }
  }
}

extension FileRecord {
  /// Whether rows that outlive a file still name its id: links to it, what lay in it, its shares. Made
  /// again under the same id, a file would take them over, and an old link accept a share unasked.
  static func isRemembered(_ queryable: some Queryable, _ id: Identifier) throws -> Bool {
    let found = try queryable.first(
      """
      SELECT id FROM sync.files WHERE target_id = $1 AND deleted = 0 AND target_id IS NOT NULL
      UNION ALL SELECT id FROM sync.files WHERE parent_id = $1 AND deleted = 0
      UNION ALL SELECT id FROM sync.files WHERE parent_id = $1 AND deleted = 1
      UNION ALL SELECT file_id FROM sync.shares WHERE file_id = $1
      LIMIT 1
      """, .id(id)
    ) { row in try row.id(0) }
    return found != nil
  }

  /// The one link of an account to a file that is not explicitly deleted.
  static func liveLink(
    _ queryable: some Queryable, of account: Identifier, to target: Identifier
  ) throws -> Identifier? {
    try queryable.first(
      "SELECT id FROM sync.files WHERE owner_id = $1 AND target_id = $2 AND deleted = 0",
      .id(account), .id(target)
    ) { row in try row.id(0) }
  }
}

extension JSONValue {
  /// Standard base64, or null.
  static func base64(_ bytes: [UInt8]?) -> JSONValue {
    bytes.map { .string(Base64.standard.encode($0)) } ?? .null
  }
}
