internal import Base
internal import Migrations
internal import SQLite

/// Creates both SQLite files and brings their schemas up to date, one program at a time.
///
/// Each migration runs in its own transaction, together with the row that records it. The file is
/// opened as `main` here, because migrations use unqualified names.
struct SQLiteMigrator {
  private let files: SQLiteFiles
  private let options: DatabaseOptions

  init(_ files: SQLiteFiles, options: DatabaseOptions) {
    self.files = files
    self.options = options
  }

  func migrate() throws {
    try files.createDirectory()
    try StartLock.hold(files.lockPath, until: .now() + options.startWait) {
      try files.create()
      for schema in Schema.allCases { try migrate(schema) }
      try synchronizeDirectory(files.directory)
    }
  }

  /// Throws where there is anything to create or to migrate, having touched nothing.
  func check() throws {
    guard Schema.allCases.allSatisfy({ files.has($0) }) else {
      throw DatabaseError.migration(
        "no Coffer database is in \(files.directory); coffer migrate makes one")
    }
    for schema in Schema.allCases {
      // Through the attached read-only form: opening as `main` would make what is missing.
      let connection = try files.connect(.probe(schema), lockWait: options.lockWait)
      let applied = try Self.applied(connection, schema.rawValue)
      try MigrationPlan(schema, applied: applied, known: options.migrations(of: schema))
        .requireNothingPending()
    }
  }

  private func migrate(_ schema: Schema) throws {
    let connection = try SQLiteConnection(
      file: files.path(of: schema),
      busyTimeoutMilliseconds: Int32(clamping: options.lockWait.milliseconds))
    try Self.useWriteAheadLog(connection)
    try connection.execute("PRAGMA main.synchronous = FULL")
    try connection.execute("PRAGMA foreign_keys = ON")
    let known = options.migrations(of: schema)
    let applied = try Self.applied(connection, "main")
    for migration in try MigrationPlan(schema, applied: applied, known: known).pending {
      try apply(migration, to: schema, connection)
    }
  }

  private static func useWriteAheadLog(_ connection: SQLiteConnection) throws {
    let sql = "PRAGMA main.journal_mode = WAL"
    let statement = try connection.takeStatement(sql)
    guard try statement.step(), statement.text(0) == "wal" else {
      throw DatabaseError.unavailable(reason: "the file system does not carry SQLite's WAL mode")
    }
    connection.giveBack(statement, for: sql)
  }

  private static func applied(
    _ connection: SQLiteConnection, _ file: String
  ) throws -> [MigrationPlan.Applied] {
    let exists = try connection.integer(
      "SELECT count(*) FROM \(file).sqlite_schema WHERE type = 'table' AND name = 'migrations'")
    guard exists == 1 else { return [] }
    var applied: [MigrationPlan.Applied] = []
    _ = try connection.perform(
      "SELECT number, name, digest FROM \(file).migrations ORDER BY number", []
    ) { row in
      applied.append(
        MigrationPlan.Applied(
          number: Int(try row.integer(0)), name: try row.text(1), digest: try row.blob(2)))
      return true
    }
    return applied
  }

  private func apply(
    _ migration: Migration, to schema: Schema, _ connection: SQLiteConnection
  ) throws {
    try connection.execute("BEGIN IMMEDIATE")
    do {
      try connection.execute(MigrationTable.creation)
      try connection.execute(String(decoding: migration.sql, as: UTF8.self))
      _ = try connection.perform(MigrationTable.insertion, MigrationTable.values(migration)) { _ in
        true
      }
      try connection.execute("COMMIT")
    } catch {
      if connection.isInTransaction { try connection.execute("ROLLBACK") }
      guard let error = error as? SQLiteError, error.kind == .misuse || error.kind == .constraint
      else { throw error }
      throw DatabaseError.migration("\(schema): migration \(migration.number): \(error.message)")
    }
    Log.info(
      "storage.migrated",
      ["schema": schema.rawValue, "number": String(migration.number), "name": migration.name])
  }
}

/// The table that records what was applied to a schema, in that schema.
enum MigrationTable {
  static let creation = """
    CREATE TABLE IF NOT EXISTS migrations (
      number INTEGER PRIMARY KEY,
      name TEXT NOT NULL,
      digest BLOB NOT NULL,
      applied_at INTEGER NOT NULL
    ) STRICT
    """

  static let insertion =
    "INSERT INTO migrations (number, name, digest, applied_at) VALUES ($1, $2, $3, $4)"

  static func values(_ migration: Migration) -> [SQLValue] {
    [
      .integer(migration.number), .text(migration.name),
      .blob(MigrationPlan.digest(of: migration)), .instant(Clock.system.now()),
    ]
  }
}
