import Accounts
package import Base
import JSON
package import Storage
package import Tiers

/// A file that was deleted and is kept, with everything that was deleted with it. Its records are marked as deleted
/// like any others, but keep their contents and their charge. A link is never kept, because the share that it
/// accepted has ended with it.
package struct Trash: Sendable {
  enum State: String {
    case kept
    /// Its files come back, slice by slice.
    case restoring
    /// Its files lose their contents, slice by slice.
    case purging
  }

  package let root: Identifier
  let owner: Identifier
  /// The owner's number of the deletion.
  package let sequence: Int64
  /// Whether its files are coming back or being purged.
  package var isAtWork: Bool { state != .kept }
  let state: State
  package let deleted: Instant
  /// The key that signed the deletion.
  let deletedBy: [UInt8]
  /// As far as its files were marked.
  package let byteCount: Int64
  package let recordCount: Int64
  /// The links that were deleted with it. They are not kept.
  let linkCount: Int64
  /// How far a walk over its files has come, by their numbers.
  let walked: Int64

  static let columns = """
    root_id, owner_id, seq, state, deleted_ms, deleted_by, bytes, record_count, walked_seq, \
    link_count
    """

  init(row: borrowing Row) throws {
    root = try row.id(0)
    owner = try row.id(1)
    sequence = try row.integer(2)
    guard let state = State(rawValue: try row.text(3)) else {
      throw DatabaseError.statement("a trash entry is in no known state")
    }
    self.state = state
    deleted = try row.instant(4)
    deletedBy = try row.blob(5)
    byteCount = try row.integer(6)
    recordCount = try row.integer(7)
    walked = try row.integer(8)
    linkCount = try row.integer(9)
  }

  /// When it is purged: at once if no plan keeps it.
  package func end(under retention: Retention) -> Instant { retention.end(ofDeleted: deleted) }

  /// How long a file is kept after its deletion; nil if it is not.
  static func span(_ file: FileRecord, _ limits: Plan.Limits?) -> Instant.Span? {
    file.kind == .link ? nil : limits?.trashSpan
  }

  /// Puts a file into its owner's trash, with the record that its author signed. `number` is that of its deletion.
  /// The caller marks it, and queues what is below.
  static func put(
    _ transaction: Transaction, _ file: FileRecord, by key: [UInt8], number: Int64, fee: Int64,
    now: Instant
  ) throws {
    try transaction.execute(
      """
      INSERT INTO sync.trash (root_id, owner_id, seq, state, deleted_ms, deleted_by, parent_id,
        name, name_hmac, file_key, author_key, signature, bytes, record_count, walked_seq)
      VALUES ($1, $2, $3, 'kept', $4, $5, $6, $7, $8, $9, $10, $11, $12, 1, 0)
      ON CONFLICT (root_id) DO UPDATE SET seq = excluded.seq, state = excluded.state,
        deleted_ms = excluded.deleted_ms, deleted_by = excluded.deleted_by,
        parent_id = excluded.parent_id, name = excluded.name, name_hmac = excluded.name_hmac,
        file_key = excluded.file_key, author_key = excluded.author_key,
        signature = excluded.signature, bytes = trash.bytes + excluded.bytes,
        record_count = trash.record_count + 1, walked_seq = 0
      """, .id(file.id), .id(file.owner), .integer(number), .instant(now), .blob(key),
      .id(file.parent), .blob(file.name?.ciphertext), .blob(file.name?.hmac), .blob(file.key),
      .blob(file.author?.key), .blob(file.author?.signature),
      .integer(fee + file.contentByteCount))
    try transaction.execute("UPDATE sync.files SET trash_id = id WHERE id = $1", .id(file.id))
  }

  /// Counts files that were marked with the root, or left it.
  static func count(
    _ transaction: Transaction, _ root: Identifier, bytes: Int64, records: Int64, links: Int64 = 0
  ) throws {
    try transaction.execute(
      """
      UPDATE sync.trash SET bytes = bytes + $2, record_count = record_count + $3,
        link_count = link_count + $4
      WHERE root_id = $1
      """, .id(root), .integer(bytes), .integer(records), .integer(links))
  }

  static func find(_ queryable: some Queryable, _ root: Identifier) throws -> Trash? {
    try queryable.first(
      "SELECT \(columns) FROM sync.trash WHERE root_id = $1", .id(root)
    ) { row in try Trash(row: row) }
  }

  /// An owner's trash below a number, latest first.
  package static func latest(
    _ queryable: some Queryable, of owner: Identifier, below number: Int64 = .max, limit: Int
  ) throws -> [Trash] {
    try queryable.rows(
      """
      SELECT \(columns) FROM sync.trash WHERE owner_id = $1 AND seq < $2
      ORDER BY seq DESC LIMIT $3
      """, .id(owner), .integer(number), .integer(Int64(limit))
    ) { row in try Trash(row: row) }
  }

  /// The number of an owner's files in the trash, each with what was deleted with it.
  package static func count(_ queryable: some Queryable, of owner: Identifier) throws -> Int64 {
    try queryable.number(
      "SELECT count(*) FROM sync.trash WHERE owner_id = $1", .id(owner))
  }

  /// What an owner deleted first in a span of time, and no one empties yet.
  static func oldest(
    _ queryable: some Queryable, of owner: Identifier, deletedIn span: Range<Instant>, limit: Int
  ) throws -> [Trash] {
    try queryable.rows(
      """
      SELECT \(columns) FROM sync.trash
      WHERE owner_id = $1 AND state = 'kept' AND deleted_ms >= $2 AND deleted_ms < $3
      ORDER BY deleted_ms, seq LIMIT $4
      """, .id(owner), .instant(span.lowerBound), .instant(span.upperBound),
      .integer(Int64(limit))
    ) { row in try Trash(row: row) }
  }

  /// What an owner's trash that is being purged still holds.
  static func purgingByteCount(
    _ queryable: some Queryable, of owner: Identifier
  ) throws -> Int64 {
    try queryable.number(
      """
      SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM sync.trash
      WHERE owner_id = $1 AND state = 'purging'
      """, .id(owner))
  }

  /// Whether files below the root are still being marked.
  func isBeingMarked(_ queryable: some Queryable) throws -> Bool {
    try queryable.hasRow(
      "SELECT 1 FROM sync.deletions WHERE deleted_with = $1 LIMIT 1", .id(root))
  }

  func become(_ state: State, _ transaction: Transaction) throws {
    try transaction.execute(
      "UPDATE sync.trash SET state = $2, walked_seq = 0 WHERE root_id = $1", .id(root),
      .text(state.rawValue))
  }
}
