internal import Base
internal import Storage

/// Objects that nothing points to any more, and what they weigh beside the usage of their owners.
enum Garbage {
  /// Hands an object that nothing points to any more to the sweeper. `since` is when it was last seen;
  /// nil where it never was.
  static func add(
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

  /// Counts what an account's objects in garbage weigh, more or less.
  static func keep(
    _ transaction: Transaction, _ delta: Int64, of owner: Identifier
  ) throws {
    try transaction.execute(
      "UPDATE sync.accounts SET kept_bytes = kept_bytes + $2 WHERE id = $1",
      .id(owner), .integer(delta))
  }
}
