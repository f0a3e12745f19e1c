/// What a transaction needs from a connection of either engine.
package protocol EngineConnection: AnyObject {
  /// Runs one statement, hands over its rows and answers how many rows it changed.
  ///
  /// Throws its own `EngineError`, or what `row` throws. `row` answers whether it wants more.
  func perform(
    _ sql: String, _ values: [SQLValue], row: (borrowing Row) throws -> Bool
  ) throws -> Int
}

/// One transaction on one connection, from its first statement to its last.
///
/// After a failed statement every further one fails with the same error and the transaction is
/// rolled back whatever its body returns: PostgreSQL demands it, SQLite is made to match.
package final class Session {
  package private(set) var failure: (any EngineError)?

  private let connection: any EngineConnection
  private var isOpen = true

  package init(_ connection: any EngineConnection) { self.connection = connection }

  package func run(
    _ sql: String, _ values: [SQLValue], row: (borrowing Row) throws -> Bool
  ) throws -> Int {
    precondition(isOpen, "a transaction was used after its end")
    if let failure { throw failure.databaseError }
    do {
      return try connection.perform(sql, values, row: row)
    } catch let error as any EngineError {
      failure = error
      throw error.databaseError
    }
  }

  /// Ends the session: a `Reader` or `Transaction` that escaped its body traps when used.
  package func end() { isOpen = false }
}
