package import Base
import Crypto
package import JSON
import Requests
package import Storage

/// A record of a tree that moves from one Coffer to another.
package struct MovedFile: Sendable {
  let record: FileRecord
  /// The most levels below a folder.
  let height: Int64
  let deleted: Instant?

  private static let pageCount: Int64 = 500

  /// The next records of an account, by their last changes. Links lead into others' trees, and are left out.
  package static func page(
    _ reader: Reader, of account: Identifier, after sequence: Int64
  ) throws -> [MovedFile] {
    try reader.rows(
      """
      SELECT \(FileRecord.columns), height, deleted_ms FROM sync.files
      WHERE owner_id = $1 AND seq > $2 AND kind <> 'link' ORDER BY seq LIMIT $3
      """, .id(account), .integer(sequence), .integer(pageCount)
    ) { row in
      MovedFile(
        record: try FileRecord(row: row), height: try row.integer(FileRecord.columnCount),
        deleted: try row.optionalInstant(FileRecord.columnCount + 1))
    }
  }

  private init(record: FileRecord, height: Int64, deleted: Instant?) {
    self.record = record
    self.height = height
    self.deleted = deleted
  }

  package var id: Identifier { record.id }
  package var sequence: Int64 { record.sequence }
  /// The size of a document's content; nil if it has none.
  package var contentByteCount: Int64? {
    record.hasContent ? record.contentByteCount : nil
  }
  /// The object of large content in the old installation.
  package var objectID: Identifier? { record.objectID }

  package var json: JSONValue {
    guard case .object(let members) = record.json(shares: []) else {
      preconditionFailure("a record has members")
    }
    return .object(
      members + [
        .init("height", .integer(height)),
        .init("deleted_ms", deleted.map { .integer($0.milliseconds) } ?? .null),
      ])
  }

  /// Reads what `json` wrote and checks its author's signature, unless that `isChecked`.
  package init(_ json: JSON, of account: Identifier, isChecked: Bool) throws(MovingError) {
    do throws(RequestRefusal) {
      try self.init(read: json, of: account)
    } catch { throw MovingError(error) }
    if let law = brokenLaw { throw MovingError(law, id) }
    guard isChecked || isSigned else { throw MovingError(.signature, id) }
  }

  /// The law of trees that the record breaks by itself; nil for anything that a server can write.
  private var brokenLaw: TreeFinding.Law? {
    if record.isRoot {
      guard record.kind == .folder, !record.isDeleted, record.key == nil, record.author == nil
      else { return .root }
    }
    guard (deleted != nil) == record.isDeleted, record.isMarkRight
    else { return .deletion }
    return record.isWeightRight ? nil : .content
  }

  private init(read json: JSON, of account: Identifier) throws(RequestRefusal) {
    try json.requireMembers([
      "id", "owner", "parent", "type", "name", "key", "deleted", "version", "author", "signature",
      "deleted_with", "content", "height", "deleted_ms",
    ])
    let kind = try json["type"].oneOf(FileRecord.Kind.self)
    let id = try json["id"].identifier()
    guard kind != .link, try json["owner"].identifier() == account else {
      throw .bodyInvalid(path: json["owner"].path, rule: "must be the account's own file")
    }
    let isDocument = kind == .document
    record = FileRecord(
      id: id, owner: account, parent: try json["parent"].identifier(), kind: kind, target: nil,
      name: try json["name"].optional { (json) throws(RequestRefusal) in
        try FileRecord.Statement.name(json)
      },
      key: try json["key"].optional { (json) throws(RequestRefusal) in
        try json.base64(byteCount: 1...FileRecord.Statement.keyByteCountMax)
      }, author: try Self.author(json), sequence: try json["version"].number(in: 0...Int64.max / 2),
      contentVersion: isDocument ? try json["content"]["version"].number(in: 0...Int64.max / 2) : 0,
      contentByteCount: isDocument ? try json["content"]["bytes"].number(in: 0...Int64.max / 2) : 0,
      objectID: nil, isDeleted: try json["deleted"].boolean(),
      deletedWith: json["deleted_with"].exists ? try json["deleted_with"].identifier() : nil)
    height = try json["height"].number(in: 0...Int64(AncestorTree.depthMax))
    deleted = try json["deleted_ms"].optional { (json) throws(RequestRefusal) in
      try json.moment()
    }
    guard record.isRoot == (record.name == nil) else {
      throw .bodyInvalid(path: json["name"].path, rule: "must be there, but for the root")
    }
  }

  private static func author(_ json: JSON) throws(RequestRefusal) -> FileRecord.Author? {
    let (keyCount, count) = (Ed25519PublicKey.byteCount, Ed25519PublicKey.signatureByteCount)
    return try json["author"].optional { (author) throws(RequestRefusal) in
      FileRecord.Author(
        key: try author.base64(byteCount: keyCount...keyCount),
        signature: try json["signature"].base64(byteCount: count...count))
    }
  }

  /// As `TreeAudit` sees it. Only the root has no author.
  private var isSigned: Bool {
    record.isRoot
      || record.isSigned(by: record.author.flatMap { Ed25519PublicKey(bytes: $0.key) })
  }

  /// Writes the record; its large content is in `object`.
  package func insert(contentIn object: Identifier?, in transaction: Transaction) throws {
    try transaction.execute(
      """
      INSERT INTO sync.files
        (id, owner_id, parent_id, kind, target_id, name, name_hmac, file_key, author_key,
         signature, height, seq, content_version, content_bytes, object_id, deleted, deleted_ms,
         deleted_with)
      VALUES ($1, $2, $3, $4, NULL, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
      """, .id(id), .id(record.owner), .id(record.parent), .text(record.kind.rawValue),
      .blob(record.name?.ciphertext), .blob(record.name?.hmac), .blob(record.key),
      .blob(record.author?.key), .blob(record.author?.signature), .integer(height),
      .integer(sequence), .integer(record.contentVersion), .integer(record.contentByteCount),
      .id(object), .integer(record.isDeleted ? 1 : 0), .instant(deleted),
      .id(record.deletedWith))
  }
}

package enum MovedContent {
  /// Larger contents are in the object store.
  package static let inlineByteCountMax = Int64(Contents.inlineByteCountMax)

  /// The contents of the given files that are kept in the database.
  package static func inline(
    of files: [Identifier], _ reader: Reader, each: (Identifier, [UInt8]) throws -> Void
  ) throws {
    for list in SQLList.slices(of: files.map { .id($0) }, after: 0) {
      try reader.query(
        "SELECT file_id, bytes FROM sync.inline_contents WHERE file_id IN (\(list.parameters))",
        list.values
      ) { row in
        try each(try row.id(0), try row.blob(1))
        return true
      }
    }
  }

  package static func insert(
    _ bytes: [UInt8], of file: Identifier, in transaction: Transaction
  ) throws {
    try transaction.execute(
      "INSERT INTO sync.inline_contents (file_id, bytes) VALUES ($1, $2)", .id(file), .blob(bytes))
  }
}
