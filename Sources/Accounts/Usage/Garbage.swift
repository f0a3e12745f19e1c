package import Base
package import Storage

/// Objects that nothing refers to any more, and their total size for each owner.
package enum Garbage {
  /// A content that was replaced: of which document, and the document's version then.
  package typealias Former = (file: Identifier, version: Int64)

  /// How long a download may still read an object that was replaced.
  package static let age = Instant.Span.minutes(10)

  /// Hands an unused object to the sweeper. `since` is when it was last visible; nil if it never was.
  package static func add(
    _ transaction: Transaction, _ id: Identifier, of owner: Identifier, byteCount: Int64,
    since: Instant?, was former: Former? = nil
  ) throws {
    let count = try transaction.execute(
      """
      INSERT INTO sync.garbage (object_id, since_ms, owner_id, bytes, file_id, version)
      VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (object_id) DO NOTHING
      """,
      .id(id), .instant(since ?? Instant(seconds: 0)), .id(owner), .integer(byteCount),
      .id(former?.file), .integer(former?.version))
    if count == 1 { try keep(transaction, byteCount, of: owner) }
  }

  /// Hands an object of an account without a usage to the sweeper.
  package static func addOfErased(
    _ transaction: Transaction, _ id: Identifier, since: Instant
  ) throws {
    try transaction.execute(
      """
      INSERT INTO sync.garbage (object_id, since_ms) VALUES ($1, $2)
      ON CONFLICT (object_id) DO NOTHING
      """, .id(id), .instant(since))
  }

  /// The object of a replaced content that is not deleted yet; nil if there is none.
  package static func find(
    _ reader: some Queryable, _ former: Former
  ) throws -> (object: Identifier, byteCount: Int64)? {
    try reader.first(
      "SELECT object_id, bytes FROM sync.garbage WHERE file_id = $1 AND version = $2 LIMIT 1",
      .id(former.file), .integer(former.version)
    ) { row in (try row.id(0), try row.integer(1)) }
  }

  /// Adds to, or subtracts from, the size of an account's garbage.
  package static func keep(
    _ transaction: Transaction, _ delta: Int64, of owner: Identifier
  ) throws {
    try transaction.execute(
      "UPDATE sync.accounts SET kept_bytes = kept_bytes + $2 WHERE id = $1",
      .id(owner), .integer(delta))
  }
}
