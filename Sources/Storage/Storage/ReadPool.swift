import Base

/// The engine-specific part of a connection that reads.
protocol Snapshots: Sendable {
  associatedtype Connection

  func connect() throws -> Connection
  func begin(on connection: Connection) throws
  func session(on connection: Connection, counting work: WorkCounter) -> Session
  func commit(on connection: Connection) throws
  /// Ends a snapshot in which something failed. Throws if that is not possible.
  func rollBack(on connection: Connection) throws
  func isIdle(_ connection: Connection) -> Bool
  /// Whether the error means that an idle connection is lost, and so are all that were made as early.
  func isLoss(_ error: any Error) -> Bool
  func databaseError(of error: any EngineError) -> DatabaseError
}

/// The read connections of either engine: opened when first needed, bounded in number, one for each running read.
final class ReadPool<Source: Snapshots>: Sendable {
  let work = WorkCounter(.read)
  private let source: Source
  private let options: DatabaseOptions
  private let state = Locked(State())

  private struct State {
    var idle: [Source.Connection] = []
    /// Connections that are idle, in use or being opened.
    var count = 0
    var isClosed = false
  }

  private enum Checkout {
    case idle(Source.Connection)
    /// Permission to open one.
    case new
    case closed
  }

  init(_ source: Source, options: DatabaseOptions) {
    self.source = source
    self.options = options
  }

  func read<Value>(_ body: (Session) throws -> Value) throws -> Value {
    do {
      let connection = try checkOutInSnapshot()
      let session = source.session(on: connection, counting: work)
      defer { session.end() }
      do {
        let value = try body(session)
        if let failure = session.failure { throw failure }
        try source.commit(on: connection)
        checkIn(connection)
        return value
      } catch {
        finishFailed(connection)
        throw session.failure ?? error
      }
    } catch let error as any EngineError {
      throw source.databaseError(of: error)
    }
  }

  /// A connection with an open snapshot. Idle connections that have died are replaced.
  private func checkOutInSnapshot() throws -> Source.Connection {
    let (connection, wasIdle) = try checkOut()
    do {
      try source.begin(on: connection)
      return connection
    } catch {
      drop()
      guard wasIdle, source.isLoss(error) else { throw error }
    }
    state.withLock { state in
      state.count -= state.idle.count
      state.idle.removeAll()
    }
    let (fresh, _) = try checkOut()
    do {
      try source.begin(on: fresh)
      return fresh
    } catch {
      drop()
      throw error
    }
  }

  private func checkOut() throws -> (connection: Source.Connection, wasIdle: Bool) {
    let checkout = state.wait(until: .now() + options.readWait) { state -> Checkout? in
      if state.isClosed { return .closed }
      if let connection = state.idle.popLast() { return .idle(connection) }
      guard state.count < options.readConnectionCountMax else { return nil }
      state.count += 1
      return .new
    }
    switch checkout {
    case nil: throw DatabaseError.busy(retryAfterSeconds: 1)
    case .closed: throw DatabaseError.unavailable(reason: "the database is closed")
    case .idle(let connection): return (connection, true)
    case .new:
      do {
        return (try source.connect(), false)
      } catch {
        drop()
        throw error
      }
    }
  }

  private func checkIn(_ connection: Source.Connection) {
    guard source.isIdle(connection) else { return drop() }
    state.signal { state in
      if state.isClosed { state.count -= 1 } else { state.idle.append(connection) }
    }
  }

  private func drop() { state.signal { $0.count -= 1 } }

  /// Keeps the connection if its transaction can be ended, otherwise drops it.
  private func finishFailed(_ connection: Source.Connection) {
    do {
      try source.rollBack(on: connection)
      checkIn(connection)
    } catch {
      drop()
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
