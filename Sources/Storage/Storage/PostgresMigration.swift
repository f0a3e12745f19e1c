import Base
import Glibc
import Postgres

/// Both PostgreSQL schemas, for the migrator.
///
/// An advisory lock comes first: even `CREATE SCHEMA IF NOT EXISTS` races. It ends with the session.
struct PostgresMigration: MigrationSite {
  private let connection: PostgresConnection
  private let options: DatabaseOptions

  /// "coffer" as a number that no one else is likely to lock in this database.
  private static let lockKey: Int64 = 0x636F_6666_6572
  private static let pauseMicroseconds: UInt32 = 20_000

  init(_ server: PostgresServer, options: DatabaseOptions) throws(PostgresError) {
    connection = try server.connect(statementTime: options.startWait)
    self.options = options
  }

  func alone(_ body: () throws -> Void) throws {
    try lock()
    guard try text("SELECT current_setting('server_encoding')") == "UTF8" else {
      throw DatabaseError.migration("the PostgreSQL database's encoding must be UTF8")
    }
    try body()
    try connection.execute("SELECT pg_advisory_unlock(\(Self.lockKey))")
  }

  func opened(_ schema: Schema) throws -> SchemaSite {
    if try !has(schema) { try connection.execute("CREATE SCHEMA \(schema)") }
    return site(schema)
  }

  func found(_ schema: Schema) throws -> SchemaSite? { try has(schema) ? site(schema) : nil }

  var place: String { "the PostgreSQL database" }

  func absence(of schema: Schema) -> DatabaseError {
    .migration("\(place) has no schema \(schema)", remedy: "coffer migrate makes it")
  }

  private func site(_ schema: Schema) -> SchemaSite {
    SchemaSite(
      connection: connection, qualifier: schema.rawValue,
      tableQuery: { "SELECT 1 WHERE to_regclass('\(schema).\($0)') IS NOT NULL" },
      begin: ["BEGIN", "SET LOCAL search_path = \(schema)"], translate: Dialect.postgres)
  }

  private func lock() throws {
    let deadline = MonotonicTime.now() + options.startWait
    let sql = "SELECT CASE WHEN pg_try_advisory_lock($1) THEN 'locked' ELSE 'taken' END"
    while try text(sql, .integer(Self.lockKey)) != "locked" {
      guard MonotonicTime.now() < deadline else {
        throw DatabaseError.unavailable(reason: "another program is migrating the database")
      }
      usleep(Self.pauseMicroseconds)
    }
  }

  func has(_ schema: Schema) throws -> Bool {
    let sql = "SELECT CASE WHEN to_regnamespace($1) IS NULL THEN 'no' ELSE 'yes' END"
    return try text(sql, .text(schema.rawValue)) == "yes"
  }

  private func text(_ sql: String, _ values: SQLValue...) throws -> String? {
    try connection.rows(sql, values) { row in try row.text(0) }.first
  }
}

extension PostgresConnection: ScriptConnection {
  var canRollBack: Bool { !isLost }
}
