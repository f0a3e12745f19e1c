package import Base
package import Storage

extension Transaction {
  /// The most rows that one slice of an erasure deletes of a table.
  package static let erasedCountMax: Int64 = 250
  /// The most numbered rows that one slice deletes of an item.
  private static let deletedNumberCount: Int64 = 1000

  /// Deletes a slice of the rows of `sync.<table>` that belong to an account, and hands their objects to the sweeper.
  /// Returns whether there were any.
  package func eraseContents(
    of table: String, by primaryKey: String, of account: Identifier, now: Instant
  ) throws -> Bool {
    let objects = try rows(
      """
      DELETE FROM sync.\(table) WHERE (\(primaryKey)) IN (
        SELECT \(primaryKey) FROM sync.\(table) WHERE owner_id = $1 LIMIT $2)
      RETURNING object_id
      """, .id(account), .integer(Self.erasedCountMax)
    ) { row in try row.id(0) }
    for object in objects { try Garbage.addOfErased(self, object, since: now) }
    return !objects.isEmpty
  }

  /// Deletes a slice of the rows of `sync.<table>` that belong to an item: those with the lowest numbers. Returns
  /// whether there were any.
  package func deleteSlice(
    of table: String, where column: String, is item: Identifier, by number: String
  ) throws -> Bool {
    let lowest = try first(
      "SELECT \(number) FROM sync.\(table) WHERE \(column) = $1 ORDER BY \(number) LIMIT 1",
      .id(item)
    ) { row in try row.integer(0) }
    guard let lowest else { return false }
    try execute(
      "DELETE FROM sync.\(table) WHERE \(column) = $1 AND \(number) < $2", .id(item),
      .integer(lowest + Self.deletedNumberCount))
    return true
  }

  /// Deletes a slice of the rows of `sync.<table>` that belong to an account. Returns whether there were any.
  package func eraseSlice(
    of table: String, by primaryKey: String, where column: String, is account: Identifier
  ) throws -> Bool {
    try execute(
      """
      DELETE FROM sync.\(table) WHERE (\(primaryKey)) IN (
        SELECT \(primaryKey) FROM sync.\(table) WHERE \(column) = $1 LIMIT $2)
      """, .id(account), .integer(Self.erasedCountMax)) > 0
  }

  /// Deletes the first `count` rows of `sync.<table>` whose column `moment` has passed. Returns how many there were.
  package func expireSlice(
    of table: String, by primaryKey: String, at moment: String, count: Int64, now: Instant
  ) throws -> Int {
    // On PostgreSQL a row that was renewed meanwhile is judged again by the outer condition alone.
    try execute(
      """
      DELETE FROM sync.\(table) WHERE (\(primaryKey)) IN (
        SELECT \(primaryKey) FROM sync.\(table) WHERE \(moment) <= $1 ORDER BY \(moment) LIMIT $2)
        AND \(moment) <= $1
      """, .instant(now), .integer(count))
  }
}
