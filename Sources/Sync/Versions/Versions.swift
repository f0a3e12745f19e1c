import Accounts
package import Base
import JSON
package import Storage
package import Tiers

/// A content of a document that was replaced, and that its owner's plan keeps for a while.
package struct KeptVersion: Sendable {
  package let file: Identifier
  /// The document's version while this was its content.
  package let number: Int64
  /// The owner's number of the replacement.
  package let sequence: Int64
  package let replaced: Instant
  /// When it was written and by which key; nil for a content that came from another Coffer.
  package let written: Instant?
  let author: [UInt8]?
  package let byteCount: Int64
  /// The object of large content; nil for content kept in the database.
  let objectID: Identifier?

  static let columns =
    "file_id, version, replaced_ms, content_bytes, object_id, written_ms, author_key, seq"

  init(row: borrowing Row) throws {
    file = try row.id(0)
    number = try row.integer(1)
    replaced = try row.instant(2)
    byteCount = try row.integer(3)
    objectID = try row.optionalID(4)
    written = try row.optionalInstant(5)
    author = try row.optionalBlob(6)
    sequence = try row.integer(7)
  }

  /// When it is deleted: at once if no plan keeps it.
  package func end(under retention: Retention) -> Instant { retention.end(ofReplaced: replaced) }
}

/// Keeps the replaced contents of documents, and deletes the oldest. A content is in `sync.files` or in
/// `sync.versions`, never in both, and charged to the owner in either.
package enum Versions {
  /// The most versions that one transaction deletes of its own accord, and one that a write deletes beside its work.
  static let sliceCountMax = 250
  static let surplusCountMax = 8
  /// How often the versions of an account are looked at, because its plan may have changed.
  static let pauseMax = Instant.Span.days(1)

  /// Moves a document's content here, before `number` of the owner's sequence replaces it.
  static func keep(
    _ transaction: Transaction, _ file: Identifier, until number: Int64, now: Instant
  ) throws {
    try transaction.execute(
      """
      INSERT INTO sync.versions (file_id, version, owner_id, seq, replaced_ms, written_ms,
        author_key, content_bytes, object_id, bytes)
      SELECT f.id, f.content_version, f.owner_id, $2, $3, f.content_ms, f.content_author,
        f.content_bytes, f.object_id,
        (SELECT c.bytes FROM sync.inline_contents AS c WHERE c.file_id = f.id)
      FROM sync.files AS f WHERE f.id = $1
      """, .id(file), .integer(number), .instant(now))
  }

  /// Deletes versions. Their objects are garbage from now on. Of those that were replaced a moment ago a client may
  /// just have been told, so it gets them like contents that are not kept at all.
  static func drop(
    _ transaction: Transaction, _ versions: [KeptVersion], of owner: Identifier, now: Instant
  ) throws {
    for version in versions {
      let isRecent = version.replaced > now - Garbage.age
      if let object = version.objectID {
        try Garbage.add(
          transaction, object, of: owner, byteCount: version.byteCount, since: now,
          was: isRecent ? (file: version.file, version: version.number) : nil)
      } else if isRecent {
        try FormerContents.keep(
          transaction, (version.file, version.number), of: owner, from: .version, now: now)
      }
      try transaction.execute(
        "DELETE FROM sync.versions WHERE file_id = $1 AND version = $2", .id(version.file),
        .integer(version.number))
    }
  }

  private static let places = "object_id, content_bytes, bytes"

  /// The content of a version on its way back to its document; nil if there is no such version.
  static func take(
    _ transaction: Transaction, _ file: Identifier, _ number: Int64
  ) throws -> (place: StoredContent.Place, byteCount: Int64)? {
    try transaction.first(
      """
      DELETE FROM sync.versions WHERE file_id = $1 AND version = $2 RETURNING \(places)
      """, .id(file), .integer(number)
    ) { row in try place(row: row) }
  }

  static func find(
    _ reader: Reader, _ file: Identifier, _ number: Int64
  ) throws -> (place: StoredContent.Place, byteCount: Int64)? {
    try reader.first(
      "SELECT \(places) FROM sync.versions WHERE file_id = $1 AND version = $2", .id(file),
      .integer(number)
    ) { row in try place(row: row) }
  }

  private static func place(row: borrowing Row) throws -> (
    place: StoredContent.Place, byteCount: Int64
  ) {
    (
      try row.optionalID(0).map { .object($0) } ?? .bytes(try row.optionalBlob(2) ?? []),
      try row.integer(1)
    )
  }

  static func hold(
    _ object: Identifier, of file: Identifier, _ queryable: some Queryable
  ) throws -> Bool {
    try queryable.hasRow(
      "SELECT 1 FROM sync.versions WHERE file_id = $1 AND object_id = $2", .id(file), .id(object))
  }

  /// The versions of a document before `number`, newest first, without the first `count`.
  static func newest(
    _ queryable: some Queryable, of file: Identifier, before number: Int64 = .max,
    without count: Int64 = 0, limit: Int
  ) throws -> [KeptVersion] {
    try queryable.rows(
      """
      SELECT \(KeptVersion.columns) FROM sync.versions WHERE file_id = $1 AND version < $2
      ORDER BY version DESC LIMIT $3 OFFSET $4
      """, .id(file), .integer(number), .integer(Int64(limit)), .integer(count)
    ) { row in try KeptVersion(row: row) }
  }

  /// The versions of an owner's documents, or of one of them, replaced before a number, newest first.
  package static func newest(
    _ queryable: some Queryable, ofOwner owner: Identifier, file: Identifier?,
    below number: Int64, limit: Int
  ) throws -> [KeptVersion] {
    let values: [SQLValue] = [.id(owner), .integer(number), .integer(Int64(limit))]
    let isOfFile = file == nil ? "" : "AND file_id = $4"
    return try queryable.rows(
      """
      SELECT \(KeptVersion.columns) FROM sync.versions WHERE owner_id = $1 AND seq < $2
        \(isOfFile)
      ORDER BY seq DESC LIMIT $3
      """, values: values + (file.map { [.id($0)] } ?? [])
    ) { row in try KeptVersion(row: row) }
  }

  /// The number of an owner's versions, or of one document's. It counts rows, so only operators may ask for it.
  package static func count(
    _ queryable: some Queryable, ofOwner owner: Identifier, file: Identifier?
  ) throws -> Int64 {
    let isOfFile = file == nil ? "" : "AND file_id = $2"
    let rows = try queryable.rows(
      """
      SELECT count(*) FROM sync.versions WHERE owner_id = $1
        \(isOfFile)
      """, values: [.id(owner)] + (file.map { [.id($0)] } ?? [])
    ) { row in try row.integer(0) }
    return rows.first ?? 0
  }

  /// The versions of an owner's documents that were replaced first in a span of time.
  static func oldest(
    _ queryable: some Queryable, of owner: Identifier, replacedIn span: Range<Instant>, limit: Int
  ) throws -> [KeptVersion] {
    try queryable.rows(
      """
      SELECT \(KeptVersion.columns) FROM sync.versions
      WHERE owner_id = $1 AND replaced_ms >= $2 AND replaced_ms < $3
      ORDER BY replaced_ms, seq LIMIT $4
      """, .id(owner), .instant(span.lowerBound), .instant(span.upperBound),
      .integer(Int64(limit))
    ) { row in try KeptVersion(row: row) }
  }
}

extension [KeptVersion] {
  var byteCount: Int64 { reduce(0) { $0 + $1.byteCount } }
}
