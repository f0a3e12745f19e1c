import Base

/// The operations that a transaction needs from a connection of either engine.
package protocol EngineConnection: AnyObject {
  /// Runs one statement and returns its work. `row` gets each row, and returns whether it wants more.
  ///
  /// - Throws: Its own `EngineError`, or what `row` throws.
  func perform(
    _ sql: String, _ values: [SQLValue], row: (borrowing Row) throws -> Bool
  ) throws -> DatabaseWork
}

extension EngineConnection {
  /// Every row of one statement, decoded.
  func rows<Value>(
    _ sql: String, _ values: [SQLValue] = [], row: (borrowing Row) throws -> Value
  ) throws -> [Value] {
    var rows: [Value] = []
    _ = try perform(sql, values) { current in
      rows.append(try row(current))
      return true
    }
    return rows
  }
}

/// One transaction on one connection, from its first statement to its last.
///
/// After a failed statement, every further one fails with the same error. The transaction is rolled
/// back, whatever its body returns. PostgreSQL requires this; SQLite is made to match.
package final class Session {
  package private(set) var failure: (any EngineError)?

  /// The work of the statements so far, except for failed ones.
  package private(set) var work = DatabaseWork()

  /// What is told to others once the transaction is durable.
  package private(set) var news: Set<News> = []

  private let connection: any EngineConnection
  private let counter: WorkCounter
  private var isOpen = true
  private let begin = MonotonicTime.now()

  package init(_ connection: any EngineConnection, counting counter: WorkCounter) {
    self.connection = connection
    self.counter = counter
  }

  /// Returns the number of changed rows.
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

  /// The device key on whose request the transaction writes; nil if it is on none.
  package var author: [UInt8]?

  package func report(_ one: News) {
    news.insert(
      News(
        of: one.account, one.topic, one.subject, number: one.number,
        count: one.number - one.before, by: author, isQuiet: one.isQuiet))
  }

  /// Ends the session. A `Reader` or `Transaction` that outlives its body traps when it is used.
  package func end() {
    isOpen = false
    counter.add(work, seconds: MonotonicTime.now().seconds(since: begin))
  }
}
