import Base
import SQLite

/// Both SQLite files, for the migrator.
struct SQLiteMigration: MigrationSite {
  let files: SQLiteFiles
  let options: DatabaseOptions

  func alone(_ body: () throws -> Void) throws {
    try files.createDirectory()
    try StartLock.hold(files.lockPath, until: .now() + options.startWait) {
      try files.refuseHalf()
      try files.create()
      try body()
      guard synchronizeDirectory(files.directory) else {
        throw DatabaseError.unavailable(
          reason: "cannot synchronize the directory \(files.directory): \(systemError())")
      }
    }
  }

  /// The file is opened as `main`, because migrations use unqualified names.
  func opened(_ schema: Schema) throws -> SchemaSite {
    let connection = try SQLiteConnection(
      file: files.path(of: schema),
      busyTimeoutMilliseconds: Int32(clamping: options.lockWait.milliseconds))
    // Rows of billing are small and their keys random, so most pages that a commit logs have one change. Half
    // the page size makes the log two thirds as large. An existing file keeps its page size.
    if schema == .billing { try connection.execute("PRAGMA main.page_size = 2048") }
    try Self.useWriteAheadLog(connection)
    try connection.execute("PRAGMA main.synchronous = FULL")
    try connection.execute("PRAGMA foreign_keys = ON")
    return Self.site(connection, "main")
  }

  func found(_ schema: Schema) throws -> SchemaSite? {
    try files.refuseHalf()
    guard try files.has(schema) else { return nil }
    // Uses the attached read-only form: opening as `main` would create a missing file.
    let connection = try files.connect(.reader(schema), lockWait: options.lockWait)
    return Self.site(connection, schema.rawValue)
  }

  var place: String { files.place }

  func absence(of schema: Schema) -> DatabaseError {
    .migration("no Coffer database is in \(files.directory)", remedy: "coffer migrate makes one")
  }

  private static func site(_ connection: SQLiteConnection, _ file: String) -> SchemaSite {
    SchemaSite(
      connection: connection, qualifier: file,
      tableQuery: {
        "SELECT 1 FROM \(file).sqlite_schema WHERE type = 'table' AND name = '\($0)'"
      },
      begin: ["BEGIN IMMEDIATE"], translate: { $0 })
  }

  private static func useWriteAheadLog(_ connection: SQLiteConnection) throws {
    let mode = try connection.withStatement("PRAGMA main.journal_mode = WAL") { statement in
      try statement.step() ? statement.text(0) : ""
    }
    guard mode == "wal" else {
      throw DatabaseError.unavailable(reason: "the file system does not carry SQLite's WAL mode")
    }
  }
}

extension SQLiteConnection: ScriptConnection {
  var canRollBack: Bool { isInTransaction }
}
