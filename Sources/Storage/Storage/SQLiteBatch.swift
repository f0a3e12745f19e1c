import Base
package import SQLite

/// A group commit, which runs writes in one transaction.
///
/// A write that fails before it changed anything does not affect the others. If one fails later, or one of its
/// statements does, the transaction is rolled back. Its writes run again, each in a savepoint, and so do all further
/// writes of the batch: no write runs a third time because of another's failure. The next batch uses savepoints from
/// its start, so that most batches run once even if someone makes writes fail on purpose.
///
/// SQLite itself may roll back the whole transaction (disk full, an interrupted write:
/// https://sqlite.org/lang_transaction.html, section 3), which is checked after every error. Then
/// the others run again, each in a transaction of its own. No write is answered before the commit
/// that holds it. The same applies to a refusal, which may depend on what another write wrote.
package struct SQLiteBatch {
  private let connection: SQLiteConnection
  private let work: WorkCounter
  private var results: [(request: WriteRequest, outcome: Outcome)] = []
  private var usesSavepoints: Bool
  /// Whether a write failed in a way that required savepoints to protect the others.
  package private(set) var neededSavepoints = false

  private enum Outcome {
    case success(WriteRequest.Finish)
    /// `afterChanges` is true if rows may differ from before the write.
    case failure(any Error, afterChanges: Bool)
  }

  package init(
    on connection: SQLiteConnection, counting work: WorkCounter, usingSavepoints: Bool = false
  ) {
    self.connection = connection
    self.work = work
    usesSavepoints = usingSavepoints
  }

  package var count: Int { results.count }

  /// Begins the transaction. Throws `.locked` while another process has one.
  package func begin() throws(SQLiteError) { try connection.run("BEGIN IMMEDIATE") }

  /// Runs one write. Returns false if it ended the transaction and the batch is over.
  package mutating func run(_ request: WriteRequest) -> Bool {
    let outcome = usesSavepoints ? attemptInSavepoint(request) : attempt(request)
    guard connection.isInTransaction else {
      StorageMetrics.brokenBatches.add()
      runAlone()
      report(request, outcome)
      return false
    }
    if case .failure(_, afterChanges: true) = outcome {
      if !usesSavepoints { return undo(request, outcome) }
      neededSavepoints = true
    }
    results.append((request, outcome))
    return true
  }

  /// Commits, and answers all writes.
  package mutating func commit() {
    do {
      try connection.run("COMMIT")
    } catch {
      StorageMetrics.brokenBatches.add()
      return runAlone(after: error.failureOfCommit)
    }
    StorageMetrics.batchSize.observe(Double(results.count))
    for result in results { report(result.request, result.outcome) }
    results.removeAll()
  }

  private func attempt(_ request: WriteRequest) -> Outcome {
    let session = Session(connection, counting: work)
    defer { session.end() }
    let (changedBefore, lockedBefore) = (connection.totalChangedRowCount, connection.lockedRowCount)
    do {
      let finish = try request.attempt(Transaction(session))
      if let failure = session.failure { throw failure }
      guard connection.isInTransaction else {
        throw DatabaseError.statement("a write ended its own transaction")
      }
      return .success(finish)
    } catch {
      let changed = connection.totalChangedRowCount - changedBefore
      let locked = connection.lockedRowCount - lockedBefore
      // A failed statement ended the write, whatever the body did. SQLite's count of rows is not relied on then.
      return .failure(
        Self.reported(session.failure ?? error),
        afterChanges: session.failure != nil || changed != locked)
    }
  }

  private func attemptInSavepoint(_ request: WriteRequest) -> Outcome {
    do {
      try connection.run("SAVEPOINT request")
      let outcome = attempt(request)
      guard connection.isInTransaction else { return outcome }
      if case .failure = outcome { try connection.run("ROLLBACK TO request") }
      try connection.run("RELEASE request")
      return outcome
    } catch {
      abandonTransaction()
      return .failure(Self.reported(error), afterChanges: true)
    }
  }

  /// Undoes all writes, because one without a savepoint failed after changes, and runs them again with savepoints.
  private mutating func undo(_ failed: WriteRequest, _ outcome: Outcome) -> Bool {
    abandonTransaction()
    guard !results.isEmpty else {
      // No other write was undone, and the failure does not depend on another one.
      report(failed, outcome)
      return false
    }
    StorageMetrics.repeatedBatches.add()
    var waiting = (results.map(\.request) + [failed])[...]
    results.removeAll()
    usesSavepoints = true
    neededSavepoints = true
    var isOpen = true
    do { try begin() } catch { isOpen = false }
    while isOpen, let request = waiting.popFirst() { isOpen = run(request) }
    // If there is no common transaction for them, each gets its own or fails with the reason.
    for request in waiting { report(request, runAlone(request)) }
    return isOpen
  }

  /// Runs the batch's writes again, each in its own transaction. `failure` is that of their common commit. If it left
  /// open whether that happened, it stays open for a write that the database does not take again.
  private mutating func runAlone(after failure: DatabaseError? = nil) {
    abandonTransaction()
    let requests = results.map(\.request)
    results.removeAll()
    for request in requests {
      let outcome = runAlone(request)
      if let failure, case .uncertain = failure, case .failure(let error, _) = outcome,
        error.isOfDatabase
      {
        report(request, .failure(failure, afterChanges: true))
      } else {
        report(request, outcome)
      }
    }
  }

  private func runAlone(_ request: WriteRequest) -> Outcome {
    do {
      try begin()
      let outcome = attempt(request)
      guard case .success = outcome else {
        abandonTransaction()
        return outcome
      }
      do { try connection.run("COMMIT") } catch {
        abandonTransaction()
        return .failure(error.failureOfCommit, afterChanges: true)
      }
      StorageMetrics.batchSize.observe(1)
      return outcome
    } catch {
      abandonTransaction()
      return .failure(Self.reported(error), afterChanges: true)
    }
  }

  /// Rolls back the open transaction. If that fails, it is gone, or the next BEGIN reports why not.
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
    case .failure(let error, _): request.fail(error)
    }
  }

  private static func reported(_ error: any Error) -> any Error {
    if error is OutdatedDecision { return DatabaseError.busy(retryAfterSeconds: 1) }
    guard let error = error as? any EngineError else { return error }
    return error.databaseError
  }
}
