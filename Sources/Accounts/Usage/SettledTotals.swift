package import Storage

extension Database {
  /// The totals of an account's rows as they are stored, and the sum of the rows at the same moment.
  ///
  /// `sum` reads the rows in slices while writers continue. If a row was stored or left meanwhile, the totals have
  /// another number, and everything is read again, five times at most.
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
}
