import Base
package import SQLite

/// Group commit: runs writes in one transaction.
///
/// A write that fails before it changed anything harms none of its neighbours. Where one fails later,
/// or one of its statements does, the transaction is rolled back and its writes run again, each in a
/// savepoint of its own, and so does whatever else the batch takes: no write runs a third time for a
/// neighbour's failure. The next batch has savepoints from its start, so that whoever makes writes
/// fail on purpose gets most batches run once.
///
/// SQLite itself may roll the whole transaction back (disk full, an interrupted write:
/// https://sqlite.org/lang_transaction.html, section 3), which is seen after every error; then the
/// others run again, each in a transaction of its own. Nobody is answered before the commit that
/// holds his write, or his refusal, which may rest on what a neighbour wrote.
package struct SQLiteBatch {
  private let connection: SQLiteConnection
  private let work: WorkCounter
  private var results: [(request: WriteRequest, outcome: Outcome)] = []
  private var usesSavepoints: Bool
  /// Whether a write failed that its neighbours needed to be saved from.
  package private(set) var neededSavepoints = false

  private enum Outcome {
    case success(WriteRequest.Finish)
    /// `afterChanges` where rows may have been other than before the write.
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

  /// Begins the transaction; throws `.locked` while another process has one.
  package func begin() throws(SQLiteError) { try connection.run("BEGIN IMMEDIATE") }

  /// Runs one write; false when it took the transaction with it and the batch is over.
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

  /// Commits and answers everybody.
  package mutating func commit() {
    do {
      try connection.run("COMMIT")
    } catch {
      StorageMetrics.brokenBatches.add()
      return runAlone()
    }
    StorageMetrics.batchSize.observe(Double(results.count))
    for result in results { report(result.request, result.outcome) }
    results.removeAll()
  }

  private func attempt(_ request: WriteRequest) -> Outcome {
    let session = Session(connection, counting: work)
    defer { session.end() }
    let (changedBefore, lockedBefore) = (
      connection.totalChangedRowCount, connection.lockedRowCount
    )
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
      // Whatever the body made of it, a failed statement is what ended the write. Not every one is
      // undone by SQLite itself, so that its rows are not relied upon.
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

  /// Undoes all writes, as one without a savepoint failed after changes, and runs them again with
  /// savepoints.
  private mutating func undo(_ failed: WriteRequest, _ outcome: Outcome) -> Bool {
    abandonTransaction()
    guard !results.isEmpty else {
      // Nobody else's writes were undone, and the failure rests on nobody's.
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
    // Where there is no transaction for them together, each has one or hears why not.
    for request in waiting { report(request, runAlone(request)) }
    return isOpen
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
      let outcome = attempt(request)
      guard case .success = outcome else {
        abandonTransaction()
        return outcome
      }
      try connection.run("COMMIT")
      StorageMetrics.batchSize.observe(1)
      return outcome
    } catch {
      abandonTransaction()
      return .failure(Self.reported(error), afterChanges: true)
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
    case .failure(let error, _): request.fail(error)
    }
  }

  private static func reported(_ error: any Error) -> any Error {
    if error is OutdatedDecision { return DatabaseError.busy(retryAfterSeconds: 1) }
    guard let error = error as? any EngineError else { return error }
    return error.databaseError
  }
}
