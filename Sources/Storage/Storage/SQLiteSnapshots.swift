import Base
import SQLite

/// Snapshots of both SQLite files as of one moment, or of the owned one.
struct SQLiteSnapshots: Snapshots {
  let files: SQLiteFiles
  let owned: Schema
  /// The other schema; nil if only the owned one is read.
  let foreign: Schema?
  let options: DatabaseOptions

  /// A connection to the files that are read.
  final class Connection {
    let reader: SQLiteConnection
    /// The version of the foreign file in the latest snapshot; nil before the first.
    fileprivate var foreignVersion: Int64?

    fileprivate init(_ reader: SQLiteConnection) { self.reader = reader }
  }

  private static let attemptCountMax = 100

  func connect() throws -> Connection {
    Connection(
      try files.connect(.reader(foreign == nil ? owned : nil), lockWait: options.lockWait))
  }

  /// Begins the snapshots so that there was a moment with exactly this state of both files.
  func begin(on connection: Connection) throws {
    let reader = connection.reader
    for _ in 0..<Self.attemptCountMax {
      try reader.run("BEGIN")
      if try isOneMoment(connection) {
        reader.readDeadline = .now() + options.readTime
        return
      }
      try reader.run("COMMIT")
    }
    throw DatabaseError.busy(retryAfterSeconds: 1)
  }

  /// SQLite begins the snapshots one after the other, here the foreign file's last. Its version shows whether anyone
  /// has committed to it since the snapshot before on this connection. If no one has, it was the same when the first of
  /// the two began. The version is read inside the snapshot, so it takes no lock of its own.
  private func isOneMoment(_ connection: Connection) throws -> Bool {
    // A single snapshot begins with the first statement.
    guard let foreign else { return true }
    _ = try connection.reader.integer(
      "SELECT count(*) FROM (SELECT 1 FROM \(owned.rawValue).sqlite_schema LIMIT 1)")
    let version = try connection.reader.integer("PRAGMA \(foreign.rawValue).data_version")
    defer { connection.foreignVersion = version }
    return version == connection.foreignVersion
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
