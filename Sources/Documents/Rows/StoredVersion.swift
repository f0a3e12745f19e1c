import Accounts
import Base
import JSON
import Storage
import Tiers

struct StoredVersion: Sendable {
  let version: DocumentVersion
  /// The number of the account's sequence under which it was stored.
  let number: Int64
  let stored: Instant
  /// When another took its place; nil while it is current.
  let replaced: Instant?
  /// The account whose device wrote it; nil for the one that holds it.
  var writer: Identifier?
  /// Where its clock and body are; nil if they are in its row.
  var text: Identifier?

  static let columns = """
    v.document_id, v.author_key, v.counter, coalesce(v.clock, t.clock), v.created_s, v.secret,
    coalesce(v.body, t.body), v.signature, v.seq, v.replaced_ms, v.stored_ms, v.writer_id,
    v.receivers, v.text_id, v.blobs
    """
  /// What the columns are of.
  static let source = """
    sync.document_versions AS v LEFT JOIN sync.document_texts AS t ON t.id = v.text_id
    """

  /// The version as it was sent, and the account that it came from if it is another.
  var members: [JSONValue.Member] {
    version.members + (writer.map { [.init("account", .string($0.description))] } ?? [])
  }

  /// When a replaced version is deleted; nil for a current one.
  func end(under retention: Retention) -> Instant? {
    replaced.map { retention.end(ofReplaced: $0) }
  }
}

extension StoredVersion {
  init(row: borrowing Row) throws {
    guard let clock = VersionClock(bytes: try row.blob(3)) else {
      throw DatabaseError.statement("column 3 holds no clock")
    }
    let secret = try row.optionalBlob(5)
    let body = try row.optionalBlob(6)
    version = DocumentVersion(
      document: try row.id(0), author: try row.blob(1), counter: try row.integer(2), clock: clock,
      created: try row.integer(4),
      content: secret.flatMap { secret in
        body.map { DocumentVersion.Content(secret: secret, body: $0) }
      },
      receivers: try Self.identifiers(try row.optionalBlob(12)),
      blobs: try Self.identifiers(try row.optionalBlob(14)), signature: try row.blob(7))
    number = try row.integer(8)
    replaced = try row.optionalInstant(9)
    stored = try row.instant(10)
    writer = try row.optionalID(11)
    text = try row.optionalID(13)
  }

  private static func identifiers(_ bytes: [UInt8]?) throws -> [Identifier] {
    guard let bytes else { return [] }
    return try stride(from: 0, to: bytes.count, by: 16).map { start in
      guard let id = Identifier(bytes: bytes[start..<min(start + 16, bytes.count)]) else {
        throw DatabaseError.statement("a column holds no ids")
      }
      return id
    }
  }
}

struct LeavingVersion: Sendable {
  let number: Int64
  let document: Identifier
  let byteCount: Int64
  /// When it was replaced, or a deletion was stored.
  let moment: Instant
  let author: [UInt8]
  let counter: Int64
  let writer: Identifier?
  let text: Identifier?

  static let columnsOfReplaced = columns("replaced_ms")
  static let columnsOfDeletions = columns("stored_ms")

  private static func columns(_ moment: String) -> String {
    "seq, document_id, bytes, \(moment), author_key, counter, writer_id, text_id"
  }

  init(row: borrowing Row) throws {
    number = try row.integer(0)
    document = try row.id(1)
    byteCount = try row.integer(2)
    moment = try row.instant(3)
    author = try row.blob(4)
    counter = try row.integer(5)
    writer = try row.optionalID(6)
    text = try row.optionalID(7)
  }
}

struct VersionRows<Source: Queryable> {
  let source: Source
  let account: Identifier

  init(_ source: Source, of account: Identifier) {
    self.source = source
    self.account = account
  }

  func current(of documents: Set<Identifier>) throws -> [Identifier: [CurrentVersion]] {
    var current: [Identifier: [CurrentVersion]] = [:]
    for list in SQLList.slices(of: documents.sorted().map { .id($0) }, after: 1) {
      try source.query(
        """
        SELECT document_id, author_key, counter, deleted, bytes, seq, writer_id, text_id
        FROM sync.document_versions
        WHERE account_id = $1 AND document_id IN (\(list.parameters)) AND replaced_ms IS NULL
        """, [.id(account)] + list.values
      ) { row in
        current[try row.id(0), default: []].append(
          CurrentVersion(
            author: try row.blob(1), counter: try row.integer(2),
            isEmpty: try row.integer(3) == 1, byteCount: try row.integer(4),
            number: try row.integer(5), writer: try row.optionalID(6),
            text: try row.optionalID(7)))
        return true
      }
    }
    return current
  }

  /// The signatures of a device's versions with these counters, current and replaced.
  func signatures(of author: [UInt8], _ counters: [Int64]) throws -> [Int64: [UInt8]] {
    var signatures: [Int64: [UInt8]] = [:]
    for list in SQLList.slices(of: counters.map { .integer($0) }, after: 2) {
      for condition in ["IS NULL", "IS NOT NULL"] {
        try source.query(
          """
          SELECT counter, signature FROM sync.document_versions
          WHERE account_id = $1 AND author_key = $2 AND counter IN (\(list.parameters))
            AND replaced_ms \(condition)
          """, [.id(account), .blob(author)] + list.values
        ) { row in
          signatures[try row.integer(0)] = try row.blob(1)
          return true
        }
      }
    }
    return signatures
  }

  /// The replaced versions of a document, newest first, without the first `count`.
  func replaced(
    of document: Identifier, without count: Int64, limit: Int
  ) throws -> [LeavingVersion] {
    try source.rows(
      """
      SELECT \(LeavingVersion.columnsOfReplaced) FROM sync.document_versions
      WHERE account_id = $1 AND document_id = $2 AND replaced_ms IS NOT NULL
      ORDER BY seq DESC LIMIT $3 OFFSET $4
      """, .id(account), .id(document), .integer(Int64(limit)), .integer(count)
    ) { row in try LeavingVersion(row: row) }
  }

  /// The versions that were replaced first in a span of time.
  func oldest(replacedIn span: Range<Instant>, limit: Int) throws -> [LeavingVersion] {
    try source.rows(
      """
      SELECT \(LeavingVersion.columnsOfReplaced) FROM sync.document_versions
      WHERE account_id = $1 AND replaced_ms IS NOT NULL AND replaced_ms >= $2 AND replaced_ms < $3
      ORDER BY replaced_ms, seq LIMIT $4
      """, .id(account), .instant(span.lowerBound), .instant(span.upperBound),
      .integer(Int64(limit))
    ) { row in try LeavingVersion(row: row) }
  }

  /// The number of the deletion that was stored last; nil if none waits.
  func newestDeletion() throws -> Int64? {
    try source.first(
      """
      SELECT seq FROM sync.document_versions
      WHERE account_id = $1 AND deleted = 1 AND replaced_ms IS NULL
      ORDER BY stored_ms DESC, seq DESC LIMIT 1
      """, .id(account)
    ) { row in try row.integer(0) }
  }

  func oldestDeletions(limit: Int) throws -> [LeavingVersion] {
    try source.rows(
      """
      SELECT \(LeavingVersion.columnsOfDeletions) FROM sync.document_versions
      WHERE account_id = $1 AND deleted = 1 AND replaced_ms IS NULL
      ORDER BY stored_ms, seq LIMIT $2
      """, .id(account), .integer(Int64(limit))
    ) { row in try LeavingVersion(row: row) }
  }
}

extension VersionRows<Transaction> {
  func insert(_ versions: [StoredVersion]) throws {
    try source.insert(
      versions.map { stored in
        let version = stored.version
        let isInline = stored.text == nil
        let receivers: [UInt8]? =
          version.receivers.isEmpty ? nil : version.receivers.flatMap(\.bytes)
        let blobs: [UInt8]? = version.blobs.isEmpty ? nil : version.blobs.flatMap(\.bytes)
        let clock: [UInt8]? = isInline ? version.clock.bytes : nil
        let body: [UInt8]? = isInline ? version.content?.body : nil
        return [
          .integer(stored.number), .id(version.document), .blob(version.author),
          .integer(version.counter), .integer(version.isDeletion ? 1 : 0),
          .integer(isInline ? version.chargedByteCount : 0), .instant(stored.stored),
          .instant(stored.replaced), .integer(version.created), .blob(version.signature),
          .blob(version.content?.secret), .id(stored.writer),
          .blob(receivers), .blob(blobs), .id(stored.text), .blob(clock), .blob(body),
        ]
      }, of: account,
      into: """
        document_versions (account_id, seq, document_id, author_key, counter, deleted, bytes,
          stored_ms, replaced_ms, created_s, signature, secret, writer_id, receivers, blobs,
          text_id, clock, body)
        """)
    try source.insert(
      versions.flatMap { stored in
        stored.version.blobs.map { [.id($0), .integer(stored.number)] }
      }, of: account, into: "document_blob_names (account_id, blob_id, seq)")
  }

  func keep(_ numbers: [Int64], now: Instant) throws {
    try source.execute(in: numbers.map { .integer($0) }, .id(account), .instant(now)) { list in
      """
      UPDATE sync.document_versions SET replaced_ms = $2
      WHERE account_id = $1 AND seq IN (\(list))
      """
    }
  }

  func delete(_ numbers: [Int64]) throws {
    for list in SQLList.slices(of: numbers.map { .integer($0) }, after: 1) {
      try source.execute(
        """
        DELETE FROM sync.document_versions WHERE account_id = $1 AND seq IN (\(list.parameters))
        """, values: [.id(account)] + list.values)
      let blobs = try source.rows(
        """
        DELETE FROM sync.document_blob_names
        WHERE account_id = $1 AND seq IN (\(list.parameters)) RETURNING blob_id
        """, values: [.id(account)] + list.values
      ) { row in try row.id(0) }
      try DocumentBlob.release(Set(blobs), by: account, in: source)
    }
  }
}
