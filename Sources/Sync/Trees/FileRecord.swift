package import Base
import JSON
import Requests
package import Storage

/// The server's record of one file: structure and sizes, never a plaintext name or content.
package struct FileRecord: Sendable {
  package enum Kind: String, CaseIterable, Sendable {
    case folder, document, link
  }

  package struct Name: Sendable, Equatable {
    /// The name, encrypted with a key that the server never sees.
    let ciphertext: [UInt8]
    /// A keyed hash of the name, so that equal names can be found without reading them.
    let hmac: [UInt8]

    package init(ciphertext: [UInt8], hmac: [UInt8]) {
      self.ciphertext = ciphertext
      self.hmac = hmac
    }

    var json: JSONValue {
      [
        "ciphertext": .string(Base64.standard.encode(ciphertext)),
        "hmac": .string(Base64.standard.encode(hmac)),
      ]
    }
  }

  /// The key that signed the record, and its signature.
  package struct Author: Sendable {
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
  /// The object of large content; nil for content kept in the database.
  let objectID: Identifier?
  /// The explicit mark. A file below a deleted folder is deleted without it.
  var isDeleted: Bool
  /// The folder with which this file was deleted, if its author did not delete it directly.
  var deletedWith: Identifier?

  /// A deleted record has no content for any reader, even if the trash keeps it.
  static let columns = """
    id, owner_id, parent_id, kind, target_id, name, name_hmac, file_key, author_key, signature, \
    seq, content_version, CASE WHEN trash_id IS NULL THEN content_bytes ELSE 0 END, \
    CASE WHEN trash_id IS NULL THEN object_id END, deleted, deleted_with
    """

  static let columnCount = 16

  package init(
    id: Identifier, owner: Identifier, parent: Identifier, kind: Kind, target: Identifier?,
    name: Name?, key: [UInt8]?, author: Author?, sequence: Int64, contentVersion: Int64,
    contentByteCount: Int64, objectID: Identifier?, isDeleted: Bool, deletedWith: Identifier?
  ) {
    self.id = id
    self.owner = owner
    self.parent = parent
    self.kind = kind
    self.target = target
    self.name = name
    self.key = key
    self.author = author
    self.sequence = sequence
    self.contentVersion = contentVersion
    self.contentByteCount = contentByteCount
    self.objectID = objectID
    self.isDeleted = isDeleted
    self.deletedWith = deletedWith
  }

  var isRoot: Bool { parent == id }

  /// The record as one reader sees it: an owner with all shares, a sharee with its own.
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

  /// An owner's files in the order of their last changes.
  static func changed(
    _ reader: Reader, of owner: Identifier, after number: Int64, limit: Int64
  ) throws -> [FileRecord] {
    try reader.rows(
      """
      SELECT \(columns) FROM sync.files WHERE owner_id = $1 AND seq > $2 ORDER BY seq LIMIT $3
      """, .id(owner), .integer(number), .integer(limit)
    ) { row in try FileRecord(row: row) }
  }

  /// The account that has a file of this id, deleted ones included; nil if there is none.
  package static func owner(_ queryable: some Queryable, of id: Identifier) throws -> Identifier? {
    try queryable.first("SELECT owner_id FROM sync.files WHERE id = $1", .id(id)) { row in
      try row.id(0)
    }
  }
}

extension FileRecord {
  init(row: borrowing Row) throws {
    guard let kind = Kind(rawValue: try row.text(3)) else {
      throw DatabaseError.statement("a file is of no known type")
    }
    let hmac = try row.optionalBlob(6)
    let signature = try row.optionalBlob(9)
    self.init(
      id: try row.id(0), owner: try row.id(1), parent: try row.id(2), kind: kind,
      target: try row.optionalID(4),
      name: try row.optionalBlob(5).flatMap { ciphertext in
        hmac.map { Name(ciphertext: ciphertext, hmac: $0) }
      },
      key: try row.optionalBlob(7),
      author: try row.optionalBlob(8).flatMap { key in
        signature.map { Author(key: key, signature: $0) }
      },
      sequence: try row.integer(10), contentVersion: try row.integer(11),
      contentByteCount: try row.integer(12), objectID: try row.optionalID(13),
      isDeleted: try row.integer(14) == 1, deletedWith: try row.optionalID(15))
  }

  /// The ids that belong to no file but that remaining rows still name: links to it, files in it, its shares.
  /// A new file under such an id would inherit those rows, and an old link would accept a share unasked.
  static func remembered(
    of ids: [Identifier], _ queryable: some Queryable
  ) throws -> Set<Identifier> {
    var found: Set<Identifier> = []
    for list in SQLList.slices(of: ids.map { .id($0) }, after: 0) {
      found.formUnion(
        try queryable.rows(
          """
          WITH asked (id) AS (VALUES \(list.rows))
          SELECT a.id FROM asked AS a
          WHERE (SELECT f.id FROM sync.files AS f
              WHERE f.target_id = a.id AND f.deleted = 0 AND f.target_id IS NOT NULL LIMIT 1)
              IS NOT NULL
            OR (SELECT f.id FROM sync.files AS f
              WHERE f.parent_id = a.id AND f.deleted = 0 LIMIT 1) IS NOT NULL
            OR (SELECT f.id FROM sync.files AS f
              WHERE f.parent_id = a.id AND f.deleted = 1 LIMIT 1) IS NOT NULL
            OR (SELECT s.file_id FROM sync.shares AS s WHERE s.file_id = a.id LIMIT 1) IS NOT NULL
          """, values: list.values
        ) { row in try row.id(0) })
    }
    return found
  }

  /// An account's only link to a file that is not explicitly deleted.
  static func liveLink(
    _ queryable: some Queryable, of account: Identifier, to target: Identifier
  ) throws -> Identifier? {
    try queryable.first(
      "SELECT id FROM sync.files WHERE owner_id = $1 AND target_id = $2 AND deleted = 0",
      .id(account), .id(target)
    ) { row in try row.id(0) }
  }
}
