internal import Base
internal import Postgres

/// How connections to the server are made: the secret, the bounds and the session's settings.
struct PostgresServer: Sendable {
  private let url: Secret
  private let options: DatabaseOptions

  private static let connectSeconds = 5
  /// Past the server's own limit on a statement, the connection itself is in doubt.
  private static let answerGrace = Instant.Span.seconds(5)

  init(url: Secret, options: DatabaseOptions) {
    self.url = url
    self.options = options
  }

  /// A connection on which a statement may take `statementTime`.
  func connect(statementTime: Instant.Span) throws(PostgresError) -> PostgresConnection {
    let connection = try PostgresConnection(
      url: url, connectSeconds: Self.connectSeconds,
      answerWait: Instant.Span(
        milliseconds: statementTime.milliseconds + Self.answerGrace.milliseconds))
    // Names are qualified, so the empty path shows at once where one is not. A server whose default
    // is to answer before the commit is durable is overruled.
    try connection.execute(
      """
      SET statement_timeout = \(statementTime.milliseconds);
      SET lock_timeout = \(options.lockWait.milliseconds);
      SET idle_in_transaction_session_timeout = 60000;
      SET search_path = pg_catalog;
      SET standard_conforming_strings = on;
      SET client_min_messages = warning;
      SELECT pg_catalog.set_config('synchronous_commit', 'on', false)
      WHERE pg_catalog.current_setting('synchronous_commit') = 'off'
      """)
    return connection
  }
}

/// The read connections: opened when first needed, bounded, one per read that runs.
final class PostgresPool: Sendable {
  private let state = Locked(State())
  private let server: PostgresServer
  private let options: DatabaseOptions
  let work = WorkCounter(.read)

  private struct State {
    var idle: [PostgresConnection] = []
    var count = 0
    var isClosed = false
  }

  init(_ server: PostgresServer, options: DatabaseOptions) {
    self.server = server
    self.options = options
  }

  /// Runs `body` in one snapshot of both schemas.
  func read<Value>(_ body: (Session) throws -> Value) throws -> Value {
    do {
      let connection = try checkOutInSnapshot()
      let session = Session(connection, counting: work)
      defer { session.end() }
      do {
        let value = try body(session)
        if let failure = session.failure { throw failure }
        try connection.execute("COMMIT")
        checkIn(connection)
        return value
      } catch {
        finishFailed(connection)
        throw session.failure ?? error
      }
    } catch let error as PostgresError where error.kind == .readOnly {
      throw DatabaseError.statement(error.message)
    } catch let error as any EngineError {
      throw error.databaseError
    }
  }

  /// A connection with a snapshot begun; idle ones that died meanwhile are replaced.
  private func checkOutInSnapshot() throws -> PostgresConnection {
    let sql = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    let (connection, wasIdle) = try checkOut()
    do {
      try connection.forgetStale()
      try connection.execute(sql)
      return connection
    } catch {
      drop()
      guard wasIdle, error.isConnectionLost else { throw error }
    }
    // The server went away; what else is idle was connected to it as well.
    state.withLock { state in
      state.count -= state.idle.count
      state.idle.removeAll()
    }
    let (fresh, _) = try checkOut()
    do {
      try fresh.execute(sql)
      return fresh
    } catch {
      drop()
      throw error
    }
  }

  private func checkOut() throws -> (connection: PostgresConnection, wasIdle: Bool) {
    enum Turn {
      case idle(PostgresConnection)
      case open
      case closed
    }
    let turn = state.wait(until: .now() + options.readWait) { state -> Turn? in
      if state.isClosed { return .closed }
      if let connection = state.idle.popLast() { return .idle(connection) }
      guard state.count < options.readConnectionCountMax else { return nil }
      state.count += 1
      return .open
    }
    switch turn {
    case nil: throw DatabaseError.busy(retryAfterSeconds: 1)
    case .closed: throw DatabaseError.unavailable(reason: "the database is closed")
    case .idle(let connection): return (connection, true)
    case .open:
      do {
        return (try server.connect(statementTime: options.readTime), false)
      } catch {
        drop()
        throw error
      }
    }
  }

  private func checkIn(_ connection: PostgresConnection) {
    guard connection.isIdle else { return drop() }
    state.signal { state in
      if state.isClosed { state.count -= 1 } else { state.idle.append(connection) }
    }
  }

  private func drop() { state.signal { $0.count -= 1 } }

  /// Keeps the connection when its transaction can be ended, else drops it.
  private func finishFailed(_ connection: PostgresConnection) {
    do {
      try connection.execute("ROLLBACK")
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
