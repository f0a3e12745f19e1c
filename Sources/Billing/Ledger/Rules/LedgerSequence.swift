package import Storage

/// Numbers deliveries and decisions in one order. Only the holder of its lock writes to the ledger.
package enum LedgerSequence {
  /// Waits for any other writer to the ledger. What is read afterwards is current.
  package static func lock(in transaction: Transaction) throws {
    try transaction.execute("UPDATE billing.sequence SET last_number = last_number WHERE id = 1")
  }

  /// Takes the next `count` numbers for deliveries or decisions, which also locks the sequence.
  /// Returns the first.
  package static func take(_ count: Int = 1, in transaction: Transaction) throws -> Int64 {
    let last = try transaction.first(
      """
      UPDATE billing.sequence SET last_number = last_number + $1 WHERE id = 1 RETURNING last_number
      """, .integer(count)
    ) { row in try row.integer(0) }
    guard let last else { throw DatabaseError.statement("billing.sequence has lost its row") }
    return last - Int64(count) + 1
  }
}
