internal import Base

/// What a transaction needs from a connection of either engine.
package protocol EngineConnection: AnyObject {
  /// Runs one statement, hands over its rows and answers what it did.
  ///
  /// Throws its own `EngineError`, or what `row` throws. `row` answers whether it wants more.
  func perform(
    _ sql: String, _ values: [SQLValue], row: (borrowing Row) throws -> Bool
  ) throws -> DatabaseWork
}

/// One transaction on one connection, from its first statement to its last.
///
/// After a failed statement every further one fails with the same error and the transaction is
/// rolled back whatever its body returns: PostgreSQL demands it, SQLite is made to match.
package final class Session {
  package private(set) var failure: (any EngineError)?

  /// What its statements did so far, but for those that failed.
  package private(set) var work = DatabaseWork()

  private let connection: any EngineConnection
  private let counter: WorkCounter
  private var isOpen = true
  private let begin = MonotonicTime.now()

  package init(_ connection: any EngineConnection, counting counter: WorkCounter) {
    self.connection = connection
    self.counter = counter
  }

  /// Answers the number of rows changed.
  package func run(
    _ sql: String, _ values: [SQLValue], row: (borrowing Row) throws -> Bool
  ) throws -> Int {
    precondition(isOpen, "a transaction was used after its end")
    if let failure { throw failure.databaseError }
    do {
      let done = try connection.perform(sql, values, row: row)
      work += done
      return Int(done.changedRowCount)
    } catch let error as any EngineError {
      failure = error
      throw error.databaseError
    }
  }

  /// Ends the session: a `Reader` or `Transaction` that escaped its body traps when used.
  package func end() {
    isOpen = false
    counter.add(work, seconds: MonotonicTime.now().seconds(since: begin))
  }
}
