import Migrations
import SQLite

/// The tables and unique indexes of a schema. If one is missing, statements fail, or there may be two rows for one.
enum SchemaParts {
  struct Part: Hashable {
    let kind: String
    let name: String

    init(_ row: borrowing Row) throws {
      kind = try row.text(0)
      name = try row.text(1)
    }
  }

  /// The parts that the applied migrations made and that are missing. A newer program's indexes may rightly differ.
  static func missing(
    in schema: Schema, known: [Migration], query: String, reading reader: Reader
  ) throws -> [Part] {
    let applied = try reader.first("SELECT count(*) FROM \(schema).migrations") { row in
      Int(try row.integer(0))
    }
    let made = try made(by: known.prefix(applied ?? 0))
    let found = Set(try reader.rows(query) { row in try Part(row) })
    let isNewer = applied ?? 0 > known.count
    return made.filter { !found.contains($0) && !(isNewer && $0.kind == index) }
  }

  private static let table = "table"
  private static let index = "unique index"

  /// Migrations are the same for both engines, so a database in memory has the names of both.
  private static func made(by migrations: some Sequence<Migration>) throws -> [Part] {
    let connection = try SQLiteConnection(file: ":memory:", busyTimeoutMilliseconds: 0)
    for migration in migrations {
      try connection.execute(String(decoding: migration.sql, as: UTF8.self))
    }
    return try connection.rows(sqliteQuery("main")) { row in try Part(row) }
  }

  static func sqliteQuery(_ file: String) -> String {
    """
    SELECT CASE type WHEN 'table' THEN '\(table)' ELSE '\(index)' END, name
    FROM \(file).sqlite_schema WHERE type = 'table' OR sql GLOB 'CREATE UNIQUE INDEX *'
    ORDER BY 1, 2
    """
  }

  static func postgresQuery(_ schema: Schema) -> String {
    """
    SELECT CASE WHEN i.indexrelid IS NULL THEN '\(table)' ELSE '\(index)' END, c.relname::text
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    LEFT JOIN pg_index AS i ON i.indexrelid = c.oid
    WHERE n.nspname = '\(schema)' AND (c.relkind IN ('r', 'p') OR i.indisunique AND i.indisvalid)
    """
  }
}
