package import Base
package import Storage

/// Objects that nothing refers to any more, and their total size for each owner.
package enum Garbage {
  /// Hands an unused object to the sweeper. `since` is when it was last visible; nil if it never was.
  package static func add(
    _ transaction: Transaction, _ id: Identifier, of owner: Identifier, byteCount: Int64,
    since: Instant?
  ) throws {
    let count = try transaction.execute(
      """
      INSERT INTO sync.garbage (object_id, since_ms, owner_id, bytes) VALUES ($1, $2, $3, $4)
      ON CONFLICT (object_id) DO NOTHING
      """,
      .id(id), .instant(since ?? Instant(seconds: 0)), .id(owner), .integer(byteCount))
    if count == 1 { try keep(transaction, byteCount, of: owner) }
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
