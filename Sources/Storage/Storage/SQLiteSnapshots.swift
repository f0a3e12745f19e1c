import Base
import SQLite

/// Snapshots of both SQLite files as of one moment.
struct SQLiteSnapshots: Snapshots {
  let files: SQLiteFiles
  let foreign: Schema
  let options: DatabaseOptions

  /// A connection to both files.
  final class Connection {
    let reader: SQLiteConnection
    /// The version of the foreign file in the latest snapshot; nil before the first.
    fileprivate var foreignVersion: Int64?

    fileprivate init(_ reader: SQLiteConnection) { self.reader = reader }
  }

  private static let attemptCountMax = 100

  func connect() throws -> Connection {
    Connection(try files.connect(.reader, lockWait: options.lockWait))
  }

  /// Begins the snapshots of both files so that there was a moment with exactly this state of both.
  ///
  /// SQLite begins them one after the other, here the foreign file's last. Its version shows whether anyone has
  /// committed to it since the snapshot before on this connection. If no one has, it was the same when the first of the
  /// two began. The version is read inside the snapshot, so it takes no lock of its own.
  func begin(on connection: Connection) throws {
    let reader = connection.reader
    let own = foreign.other.rawValue
    let first = "SELECT count(*) FROM (SELECT 1 FROM \(own).sqlite_schema LIMIT 1)"
    let last = "PRAGMA \(foreign.rawValue).data_version"
    for _ in 0..<Self.attemptCountMax {
      try reader.run("BEGIN")
      _ = try reader.integer(first)
      let version = try reader.integer(last)
      if version == connection.foreignVersion {
        reader.readDeadline = .now() + options.readTime
        return
      }
      connection.foreignVersion = version
      try reader.run("COMMIT")
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
