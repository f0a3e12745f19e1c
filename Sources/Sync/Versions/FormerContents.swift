import Accounts
import Base
import Storage

/// Small contents that were replaced a moment ago and that no plan keeps, for clients that were just told of them.
/// They are not charged: an account has 64 places of at most 16 KiB, and a later one takes the place of an earlier one.
enum FormerContents {
  private static let placeCount: Int64 = 64

  /// Where the bytes are until they are replaced or dropped.
  enum Origin: String {
    case document = "inline_contents"
    case version = "versions"
  }

  /// Keeps a content as long as a large one. The owner's row must be locked, and numbers the versions.
  static func keep(
    _ transaction: Transaction, _ content: Garbage.Former, of owner: Identifier,
    from origin: Origin, now: Instant
  ) throws {
    let condition = origin == .version ? "AND version = $4" : ""
    try transaction.execute(
      """
      INSERT INTO sync.former_contents (owner_id, place, file_id, version, bytes, expires_ms)
      SELECT $2, $3, file_id, $4, bytes, $5 FROM sync.\(origin.rawValue)
      WHERE file_id = $1 \(condition)
      ON CONFLICT (owner_id, place) DO UPDATE SET file_id = excluded.file_id,
        version = excluded.version, bytes = excluded.bytes, expires_ms = excluded.expires_ms
      """,
      .id(content.file), .id(owner), .integer(content.version % placeCount),
      .integer(content.version), .instant(now + Garbage.age))
  }

  static func find(
    _ reader: some Queryable, _ content: Garbage.Former, of owner: Identifier, now: Instant
  ) throws -> [UInt8]? {
    try reader.first(
      """
      SELECT bytes FROM sync.former_contents WHERE owner_id = $1 AND place = $2
        AND file_id = $3 AND version = $4 AND expires_ms > $5
      """,
      .id(owner), .integer(content.version % placeCount), .id(content.file),
      .integer(content.version), .instant(now)
    ) { row in try row.blob(0) }
  }
}
