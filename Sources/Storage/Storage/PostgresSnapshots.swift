import Postgres

struct PostgresSnapshots: Snapshots {
  let server: PostgresServer
  let options: DatabaseOptions

  func connect() throws -> PostgresConnection {
    try server.connect(statementTime: options.readTime)
  }

  func begin(on connection: PostgresConnection) throws {
    try connection.forgetStale()
    try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
  }

  func session(on connection: PostgresConnection, counting work: WorkCounter) -> Session {
    Session(connection, counting: work)
  }

  func commit(on connection: PostgresConnection) throws { try connection.execute("COMMIT") }

  func rollBack(on connection: PostgresConnection) throws { try connection.execute("ROLLBACK") }

  func isIdle(_ connection: PostgresConnection) -> Bool { connection.isIdle }

  /// The server went away; the other idle connections were connected to it as well.
  func isLoss(_ error: any Error) -> Bool { (error as? PostgresError)?.isConnectionLost ?? false }

  /// A write to a snapshot is a bug. It does not mean that the server became a standby.
  func databaseError(of error: any EngineError) -> DatabaseError {
    if let error = error as? PostgresError, error.kind == .readOnly {
      return .statement(error.message)
    }
    return error.databaseError
  }
}
