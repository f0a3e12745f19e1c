import Base
import SQLite

/// Snapshots of both SQLite files as of one moment.
struct SQLiteSnapshots: Snapshots {
  let files: SQLiteFiles
  let foreign: Schema
  let options: DatabaseOptions

  /// A connection to both files, and one that only watches the foreign file for commits.
  struct Connection {
    let reader: SQLiteConnection
    fileprivate let probe: SQLiteConnection
  }

  private static let attemptCountMax = 100

  func connect() throws -> Connection {
    Connection(
      reader: try files.connect(.reader, lockWait: options.lockWait),
      probe: try files.connect(.probe(foreign), lockWait: options.lockWait))
  }

  /// Begins the snapshots of both files so that there was a moment with exactly this state of both.
  ///
  /// SQLite begins them one after the other. If the foreign file had no commit from before the
  /// first to after the second, its snapshot also holds at the moment of the first.
  func begin(on connection: Connection) throws {
    let version = "PRAGMA \(foreign).data_version"
    for _ in 0..<Self.attemptCountMax {
      let before = try connection.probe.integer(version)
      try connection.reader.run("BEGIN")
      _ = try connection.reader.integer(
        """
        SELECT (SELECT count(*) FROM (SELECT 1 FROM sync.sqlite_schema LIMIT 1))
        + (SELECT count(*) FROM (SELECT 1 FROM billing.sqlite_schema LIMIT 1))
        """)
      if try connection.probe.integer(version) == before {
        connection.reader.readDeadline = .now() + options.readTime
        return
      }
      try connection.reader.run("COMMIT")
    }
    throw DatabaseError.busy(retryAfterSeconds: 1)
  }

  func session(on connection: Connection, counting work: WorkCounter) -> Session {
    Session(connection.reader, counting: work)
  }

  func commit(on connection: Connection) throws {
    try connection.reader.run("COMMIT")
    connection.reader.readDeadline = nil
  }

  func rollBack(on connection: Connection) throws {
    connection.reader.readDeadline = nil
    if connection.reader.isInTransaction { try connection.reader.execute("ROLLBACK") }
  }

  func isIdle(_ connection: Connection) -> Bool { !connection.reader.isInTransaction }

  /// A file cannot be lost while its connection is idle.
  func isLoss(_ error: any Error) -> Bool { false }

  func databaseError(of error: any EngineError) -> DatabaseError { error.databaseError }
}
