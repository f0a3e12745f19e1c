import Postgres
import SQLite
import Storage
import TestEngines
import Testing

struct SchemaPartsTests {
  private func execute(_ sql: String, in schema: Schema, of scratch: ScratchDatabase) throws {
    switch scratch.location {
    case .sqlite(let directory):
      try SQLiteConnection(file: "\(directory)/\(schema).db", busyTimeoutMilliseconds: 0)
        .execute(sql)
    case .postgres:
      try scratch.connectPostgres().execute("SET search_path = \(schema); \(sql)")
    }
  }

  private func missing(_ scratch: ScratchDatabase) throws -> [String] {
    let database = try Database.open(scratch.location, owning: .sync, .requiresSchema)
    defer { database.close() }
    return try database.missingParts()
  }

  @Test(arguments: TestEngine.available)
  func `a schema has what its migrations make`(engine: TestEngine) throws {
    #expect(try missing(ScratchDatabase(engine, with: .schemas)) == [])
  }

  @Test(
    arguments: TestEngine.available,
    [
      (Schema.sync, "DROP TABLE views", "the table sync.views"),
      (.billing, "DROP TABLE attention", "the table billing.attention"),
      (.sync, "DROP INDEX files_by_name", "the unique index sync.files_by_name"),
      (.billing, "DROP INDEX deliveries_id", "the unique index billing.deliveries_id"),
    ])
  func `what was dropped is named`(
    engine: TestEngine, drop: (schema: Schema, sql: String, name: String)
  ) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    try execute(drop.sql, in: drop.schema, of: scratch)
    #expect(try missing(scratch) == [drop.name])
  }

  @Test(arguments: TestEngine.available)
  func `of a newer program's database only the tables are compared`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let first = migration(
      1, "CREATE TABLE a (id INTEGER NOT NULL) STRICT; CREATE UNIQUE INDEX a_id ON a (id);")
    let second = migration(2, "DROP INDEX a_id;", isAdditive: true)
    try scratch.open { $0.syncMigrations = [first, second] }.close()
    let older = try scratch.open { $0.syncMigrations = [first] }
    defer { older.close() }
    #expect(try older.missingParts() == [])
  }
}
