internal import Base
internal import Glibc
internal import Migrations
internal import Postgres

/// Creates both PostgreSQL schemas and brings them up to date, one program at a time.
///
/// An advisory lock comes first: even `CREATE SCHEMA IF NOT EXISTS` races. It belongs to the
/// session, so a crash leaves nothing to clean up.
struct PostgresMigrator {
  private let server: PostgresServer
  private let options: DatabaseOptions

  /// "coffer", as a number nobody else in this database is likely to lock.
  private static let lockKey: Int64 = 0x636F_6666_6572
  private static let pauseMicroseconds: UInt32 = 20_000

  init(_ server: PostgresServer, options: DatabaseOptions) {
    self.server = server
    self.options = options
  }

  func migrate() throws {
    let connection = try server.connect(statementTime: options.startWait)
    try lock(connection)
    guard try text("SELECT current_setting('server_encoding')", [], connection) == "UTF8" else {
      throw DatabaseError.migration("the PostgreSQL database's encoding must be UTF8")
    }
    for schema in Schema.allCases { try migrate(schema, connection) }
    try connection.execute("SELECT pg_advisory_unlock(\(Self.lockKey))")
  }

  /// Throws where there is anything to create or to migrate, having touched nothing.
  func check() throws {
    let connection = try server.connect(statementTime: options.startWait)
    for schema in Schema.allCases {
      guard try has(schema, connection) else {
        throw DatabaseError.migration(
          "the PostgreSQL database has no schema \(schema); coffer migrate makes it")
      }
      let applied = try applied(schema, connection)
      try MigrationPlan(schema, applied: applied, known: options.migrations(of: schema))
        .requireNothingPending()
    }
  }

  private func lock(_ connection: PostgresConnection) throws {
    let deadline = MonotonicTime.now() + options.startWait
    let sql = "SELECT CASE WHEN pg_try_advisory_lock($1) THEN 'locked' ELSE 'taken' END"
    while try text(sql, [.integer(Self.lockKey)], connection) != "locked" {
      guard MonotonicTime.now() < deadline else {
        throw DatabaseError.unavailable(reason: "another program is migrating the database")
      }
      usleep(Self.pauseMicroseconds)
    }
  }

  private func migrate(_ schema: Schema, _ connection: PostgresConnection) throws {
    if try !has(schema, connection) { try connection.execute("CREATE SCHEMA \(schema)") }
    let known = options.migrations(of: schema)
    let applied = try applied(schema, connection)
    for migration in try MigrationPlan(schema, applied: applied, known: known).pending {
      try apply(migration, to: schema, connection)
    }
  }

  private func has(_ schema: Schema, _ connection: PostgresConnection) throws -> Bool {
    let sql = "SELECT CASE WHEN to_regnamespace($1) IS NULL THEN 'no' ELSE 'yes' END"
    return try text(sql, [.text(schema.rawValue)], connection) == "yes"
  }

  private func applied(
    _ schema: Schema, _ connection: PostgresConnection
  ) throws -> [MigrationPlan.Applied] {
    let exists = "SELECT CASE WHEN to_regclass($1) IS NULL THEN 'no' ELSE 'yes' END"
    guard try text(exists, [.text("\(schema).migrations")], connection) == "yes" else { return [] }
    var applied: [MigrationPlan.Applied] = []
    _ = try connection.perform(
      "SELECT number, name, digest FROM \(schema).migrations ORDER BY number", []
    ) { row in
      applied.append(
        MigrationPlan.Applied(
          number: Int(try row.integer(0)), name: try row.text(1), digest: try row.blob(2)))
      return true
    }
    return applied
  }

  private func apply(
    _ migration: Migration, to schema: Schema, _ connection: PostgresConnection
  ) throws {
    try connection.execute("BEGIN")
    do {
      try connection.execute("SET LOCAL search_path = \(schema)")
      try connection.execute(Dialect.postgres(MigrationTable.creation))
      let sql = String(decoding: migration.sql, as: UTF8.self)
      try connection.execute(Dialect.postgres(sql))
      _ = try connection.perform(MigrationTable.insertion, MigrationTable.values(migration)) { _ in
        true
      }
      try connection.execute("COMMIT")
    } catch {
      if !connection.isLost { try connection.execute("ROLLBACK") }
      guard let error = error as? PostgresError, error.kind == .misuse || error.kind == .constraint
      else { throw error }
      throw DatabaseError.migration("\(schema): migration \(migration.number): \(error.message)")
    }
    Log.info(
      "storage.migrated",
      ["schema": schema.rawValue, "number": String(migration.number), "name": migration.name])
  }

  private func text(
    _ sql: String, _ values: [SQLValue], _ connection: PostgresConnection
  ) throws -> String? {
    var result: String?
    _ = try connection.perform(sql, values) { row in
      result = try row.text(0)
      return false
    }
    return result
  }
}
