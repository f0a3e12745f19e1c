package import Base
package import Storage

extension Transaction {
  /// The most rows that one slice of an erasure deletes of a table.
  package static let erasedCountMax: Int64 = 250

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
}
