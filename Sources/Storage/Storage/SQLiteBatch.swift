import Base
package import SQLite

/// Group commit: runs writes in one transaction, each in its own savepoint.
///
/// A failing write undoes only its own savepoint. SQLite itself may roll the whole transaction back
/// (disk full, an interrupted write: https://sqlite.org/lang_transaction.html, section 3), which is
/// seen after every error; then the others run again, each in a transaction of its own. Nobody is
/// answered before the commit that holds his write, or his refusal, which may rest on what a
/// neighbour wrote.
package struct SQLiteBatch {
  private let connection: SQLiteConnection
  private let work: WorkCounter
  private var results: [(request: WriteRequest, outcome: Outcome)] = []

  private enum Outcome {
    case success(WriteRequest.Finish)
    case failure(any Error)
  }

  package init(on connection: SQLiteConnection, counting work: WorkCounter) {
    self.connection = connection
    self.work = work
  }

  package var count: Int { results.count }

  /// Begins the transaction; throws `.locked` while another process has one.
  package func begin() throws(SQLiteError) { try connection.execute("BEGIN IMMEDIATE") }

  /// Runs one write; false when it took the transaction with it and the batch is over.
  package mutating func run(_ request: WriteRequest) -> Bool {
    let outcome = attempt(request)
    guard connection.isInTransaction else {
      StorageMetrics.brokenBatches.add()
      runAlone()
      report(request, outcome)
      return false
    }
    results.append((request, outcome))
    return true
  }

  /// Commits and answers everybody.
  package mutating func commit() {
    do {
      try connection.execute("COMMIT")
    } catch {
      StorageMetrics.brokenBatches.add()
      return runAlone()
    }
    StorageMetrics.batchSize.observe(Double(results.count))
    for result in results { report(result.request, result.outcome) }
    results.removeAll()
  }

  private func attempt(_ request: WriteRequest) -> Outcome {
    do {
      try connection.execute("SAVEPOINT request")
      let finish = try perform(request)
      try connection.execute("RELEASE request")
      return .success(finish)
    } catch {
      guard connection.isInTransaction else { return .failure(Self.reported(error)) }
      do {
        try connection.execute("ROLLBACK TO request")
        try connection.execute("RELEASE request")
      } catch {
        abandonTransaction()
      }
      return .failure(Self.reported(error))
    }
  }

  private func perform(_ request: WriteRequest) throws -> WriteRequest.Finish {
    let session = Session(connection, counting: work)
    defer { session.end() }
    do {
      let finish = try request.attempt(Transaction(session))
      if let failure = session.failure { throw failure }
      guard connection.isInTransaction else {
        throw DatabaseError.statement("a write ended its own transaction")
      }
      return finish
    } catch {
      // Whatever the body made of it, a failed statement is what ended the write.
      throw session.failure ?? error
    }
  }

  /// Runs what the batch held again, each write in its own transaction.
  private mutating func runAlone() {
    abandonTransaction()
    let requests = results.map(\.request)
    results.removeAll()
    for request in requests { report(request, runAlone(request)) }
  }

  private func runAlone(_ request: WriteRequest) -> Outcome {
    do {
      try begin()
      let finish = try perform(request)
      try connection.execute("COMMIT")
      StorageMetrics.batchSize.observe(1)
      return .success(finish)
    } catch {
      abandonTransaction()
      return .failure(Self.reported(error))
    }
  }

  /// Rolls back whatever is open. A failure leaves nothing to do: the transaction is gone or the
  /// next BEGIN says why not.
  private func abandonTransaction() {
    guard connection.isInTransaction else { return }
    do {
      try connection.execute("ROLLBACK")
    } catch {
      Log.error("storage.rollback_failed", ["reason": error.message])
    }
  }

  private func report(_ request: WriteRequest, _ outcome: Outcome) {
    switch outcome {
    case .success(let finish): finish()
    case .failure(let error): request.fail(error)
    }
  }

  private static func reported(_ error: any Error) -> any Error {
    if error is OutdatedDecision { return DatabaseError.busy(retryAfterSeconds: 1) }
    guard let error = error as? any EngineError else { return error }
    return error.databaseError
  }
}
