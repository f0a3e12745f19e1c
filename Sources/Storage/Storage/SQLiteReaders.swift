internal import Base
internal import SQLite

/// The read connections: opened when first needed, bounded, one per read that runs.
final class SQLiteReaders: Sendable {
  private let state = Locked(State())
  private let files: SQLiteFiles
  private let foreign: Schema
  private let options: DatabaseOptions
  let work = WorkCounter(.read)

  /// A connection to both files and one that only watches the foreign file for commits.
  private struct Pair {
    let reader: SQLiteConnection
    let probe: SQLiteConnection
  }

  private struct State {
    var idle: [Pair] = []
    var count = 0
    var isClosed = false
  }

  private static let snapshotAttemptCountMax = 100

  init(_ files: SQLiteFiles, foreign: Schema, options: DatabaseOptions) {
    self.files = files
    self.foreign = foreign
    self.options = options
  }

  /// Runs `body` in one snapshot of both files.
  func read<Value>(_ body: (Session) throws -> Value) throws -> Value {
    let pair = try checkOut()
    let session = Session(pair.reader, counting: work)
    defer { session.end() }
    do {
      try begin(pair)
      pair.reader.readDeadline = .now() + options.readTime
      let value = try body(session)
      if let failure = session.failure { throw failure }
      try pair.reader.execute("COMMIT")
      checkIn(pair)
      return value
    } catch {
      pair.reader.readDeadline = nil
      finishFailed(pair)
      let error = session.failure ?? error
      if let error = error as? any EngineError { throw error.databaseError }
      throw error
    }
  }

  /// Begins both files' snapshots so that some moment had exactly this state of both.
  ///
  /// SQLite begins them one after the other. If the foreign file has seen no commit between before
  /// the first and after the second, its snapshot also holds at the moment of the first.
  private func begin(_ pair: Pair) throws {
    let version = "PRAGMA \(foreign).data_version"
    for _ in 0..<Self.snapshotAttemptCountMax {
      let before = try pair.probe.integer(version)
      try pair.reader.execute("BEGIN")
      _ = try pair.reader.integer(
        """
        SELECT (SELECT count(*) FROM (SELECT 1 FROM sync.sqlite_schema LIMIT 1))
        + (SELECT count(*) FROM (SELECT 1 FROM billing.sqlite_schema LIMIT 1))
        """)
      if try pair.probe.integer(version) == before { return }
      try pair.reader.execute("COMMIT")
    }
    throw DatabaseError.busy(retryAfterSeconds: 1)
  }

  private func checkOut() throws -> Pair {
    enum Turn {
      case idle(Pair)
      case open
      case closed
    }
    let turn = state.wait(until: .now() + options.readWait) { state -> Turn? in
      if state.isClosed { return .closed }
      if let pair = state.idle.popLast() { return .idle(pair) }
      guard state.count < options.readConnectionCountMax else { return nil }
      state.count += 1
      return .open
    }
    switch turn {
    case nil: throw DatabaseError.busy(retryAfterSeconds: 1)
    case .closed: throw DatabaseError.unavailable(reason: "the database is closed")
    case .idle(let pair): return pair
    case .open: return try openPair()
    }
  }

  private func openPair() throws -> Pair {
    do {
      return Pair(
        reader: try files.connect(.reader, lockWait: options.lockWait),
        probe: try files.connect(.probe(foreign), lockWait: options.lockWait))
    } catch {
      state.signal { $0.count -= 1 }
      throw error.databaseError
    }
  }

  private func checkIn(_ pair: Pair) {
    state.signal { state in
      if state.isClosed { state.count -= 1 } else { state.idle.append(pair) }
    }
  }

  /// Keeps the connection when its transaction can be ended, else drops it.
  private func finishFailed(_ pair: Pair) {
    do {
      if pair.reader.isInTransaction { try pair.reader.execute("ROLLBACK") }
      checkIn(pair)
    } catch {
      state.signal { $0.count -= 1 }
    }
  }

  /// Waits for running reads, then closes every connection.
  func close(until deadline: MonotonicTime) {
    state.signal { $0.isClosed = true }
    _ = state.wait(until: deadline) { state -> Bool? in
      state.count -= state.idle.count
      state.idle.removeAll()
      return state.count == 0 ? true : nil
    }
  }
}
