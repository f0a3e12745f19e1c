package import Base
package import Storage

extension Database {
  /// The totals of an account's rows as they are stored, and the sum of the rows at the same moment. `sum` reads in
  /// slices while writers continue. If the totals' number has changed, all is read again, five times at most.
  package func settled<Totals, Sum>(
    _ totals: (Reader) throws -> Totals, by number: (Totals) -> Int64, _ sum: () throws -> Sum
  ) throws -> (recorded: Totals, sum: Sum) {
    for _ in 0..<5 {
      let before = try read(totals)
      let found = try sum()
      let after = try read(totals)
      if number(before) == number(after) { return (after, found) }
    }
    throw DatabaseError.busy(retryAfterSeconds: 1)
  }

  private static let sliceRowCount: Int64 = 1000

  /// Reads an account's rows, a slice of them in each snapshot. The parameters of the statement are the account, the place
  /// after which a slice begins, and the most rows of it. `row` returns the place of a row.
  package func readSlices(
    _ sql: String, of account: Identifier, after start: SQLValue...,
    row: (borrowing Row) throws -> [SQLValue]
  ) throws {
    var (place, before) = (start, start)
    repeat {
      before = place
      let values: [SQLValue] = [.id(account)] + before + [.integer(Self.sliceRowCount)]
      try read { reader in
        try reader.query(sql, values) { current in
          place = try row(current)
          return true
        }
      }
    } while place != before
  }
}
