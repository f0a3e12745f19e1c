import Base
import Migrations
import Storage
import TestEngines
import TestFiles
import Testing

@Suite struct MigrationTests {
  private let first = migration(1, "CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT) STRICT;")
  private let second = migration(2, "CREATE TABLE b (id INTEGER PRIMARY KEY) STRICT;")

  @Test(arguments: TestEngine.available)
  func `a later start applies only what is new`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    try scratch.open { $0.syncMigrations = [first] }.close()
    let database = try scratch.open { $0.syncMigrations = [first, second] }
    defer { database.close() }
    try database.write(for: nil) { transaction in
      try transaction.execute("INSERT INTO sync.a (id, t) VALUES (1, 'x')")
      try transaction.execute("INSERT INTO sync.b (id) VALUES (1)")
    }
    let rows = try database.read { reader in
      try reader.rows("SELECT number, name, digest FROM sync.migrations ORDER BY number") { row in
        MigrationPlan.Applied(
          number: Int(try row.integer(0)), name: try row.text(1), digest: try row.blob(2))
      }
    }
    #expect(
      rows
        == [first, second].map {
          MigrationPlan.Applied(
            number: $0.number, name: $0.name, digest: MigrationPlan.digest(of: $0))
        })
  }

  @Test(arguments: TestEngine.available)
  func `what was restored opens with the schemas that it has, and keeps them`(
    engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine)
    try scratch.open { $0.syncMigrations = [first] }.close()
    let database = try scratch.open(preparation: .acceptsEarlier) {
      $0.syncMigrations = [first, second]
    }
    defer { database.close() }
    try database.write(for: nil) { try $0.execute("INSERT INTO sync.a (id, t) VALUES (1, 'x')") }
    let count = try database.read { reader in
      try reader.first("SELECT count(*) FROM sync.migrations") { row in try row.integer(0) }
    }
    #expect(count == 1)
    #expect(try Database.schemas(at: scratch.location) == [.sync, .billing])
  }

  @Test(arguments: TestEngine.available)
  func `nothing is restored into a place without schemas, and none is made`(
    engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine)
    #expect(throws: DatabaseError.self) { try scratch.open(preparation: .acceptsEarlier) { _ in } }
    #expect(try Database.schemas(at: scratch.location) == [])
  }

  @Test(arguments: TestEngine.available)
  func `an edited migration stops the start`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    try scratch.open { $0.syncMigrations = [first] }.close()
    let edited = migration(1, "CREATE TABLE a (id INTEGER PRIMARY KEY) STRICT;")
    #expect(
      throws: DatabaseError.migration(
        "sync: migration 1 (test1) was edited after it was applied",
        remedy: "run the program that the database was made with, or a newer release")
    ) {
      try scratch.open { $0.syncMigrations = [edited] }
    }
  }

  @Test(arguments: TestEngine.available)
  func `a database newer than the program stops the start`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    try scratch.open { $0.billingMigrations = [first, second] }.close()
    #expect(
      throws: DatabaseError.migration(
        "billing: the database is at migration 2, this program knows 1",
        remedy: "run a newer program")
    ) {
      try scratch.open { $0.billingMigrations = [first] }
    }
  }

  @Test(arguments: TestEngine.available, [Database.Preparation.migrates, .requiresSchema])
  func `an older program works with a database to which a newer one has only added`(
    engine: TestEngine, preparation: Database.Preparation
  ) throws {
    let scratch = try ScratchDatabase(engine)
    let added = migration(2, "ALTER TABLE a ADD COLUMN note TEXT;", isAdditive: true)
    let more = migration(3, "CREATE TABLE b (id INTEGER PRIMARY KEY) STRICT;", isAdditive: true)
    try scratch.open { $0.syncMigrations = [first, added, more] }.close()
    let older = try scratch.open(preparation: preparation) { $0.syncMigrations = [first] }
    try older.write(for: nil) { try $0.execute("INSERT INTO sync.a (id, t) VALUES (1, 'x')") }
    older.close()
    // The newer program accepts what the older one left.
    try scratch.open { $0.syncMigrations = [first, added, more] }.close()
  }

  @Test(arguments: TestEngine.available)
  func `a program is refused that does not know the last migration that broke with before`(
    engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine)
    let third = migration(3, "ALTER TABLE a ADD COLUMN note TEXT;", isAdditive: true)
    try scratch.open { $0.syncMigrations = [first, second, third] }.close()
    try scratch.open { $0.syncMigrations = [first, second] }.close()
    #expect(
      throws: DatabaseError.migration(
        "sync: the database is at migration 3, this program knows 1",
        remedy: "run a newer program")
    ) {
      try scratch.open { $0.syncMigrations = [first] }
    }
  }

  @Test(arguments: TestEngine.available)
  func `a database of the first schema is upgraded with all its rows`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let next = Migration(
      number: 2, name: "notes", isAdditive: true,
      sql: Array("ALTER TABLE customers ADD COLUMN note TEXT;".utf8))
    var options = DatabaseOptions()
    options.billingMigrations = Array(Migrations.billing.prefix(1))
    let first = try Database.open(scratch.location, owning: .billing, options: options)
    try first.write(for: nil) { transaction in
      try transaction.execute(
        "INSERT INTO billing.customers (account_id, customer, number) VALUES ($1, 'cus_1', 7)",
        .id(Identifier(high: 1, low: 1)))
    }
    first.close()
    options.billingMigrations.append(next)
    let upgraded = try Database.open(scratch.location, owning: .billing, options: options)
    defer { upgraded.close() }
    let rows = try upgraded.read {
      try $0.rows("SELECT customer, number, note FROM billing.customers") { row in
        "\(try row.text(0)) \(try row.integer(1)) \(try row.optionalText(2) ?? "-")"
      }
    }
    #expect(rows == ["cus_1 7 -"])
  }

  @Test(arguments: TestEngine.available)
  func `a gap among the applied migrations stops the start`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open { $0.syncMigrations = [first, second] }
    try database.write(for: nil) { try $0.execute("DELETE FROM sync.migrations WHERE number = 1") }
    database.close()
    #expect(
      throws: DatabaseError.migration(
        "sync: migration 1 was never applied to the database", remedy: "restore a backup")
    ) {
      try scratch.open { $0.syncMigrations = [first, second] }
    }
  }

  @Test(arguments: TestEngine.available)
  func `a gap in the program's own list stops the start`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    #expect(throws: DatabaseError.migration("sync: this program has no migration 1")) {
      try scratch.open { $0.syncMigrations = [second] }
    }
  }

  @Test(arguments: TestEngine.available)
  func `a migration that fails half-way leaves nothing behind`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let broken = migration(
      2, "CREATE TABLE b (id INTEGER PRIMARY KEY) STRICT; INSERT INTO nowhere (id) VALUES (1);")
    let error = #expect(throws: DatabaseError.self) {
      try scratch.open { $0.syncMigrations = [first, broken] }
    }
    guard case .migration = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    // The first migration stays. The second can be applied once it is correct.
    let database = try scratch.open { $0.syncMigrations = [first, second] }
    defer { database.close() }
    let count = try database.read {
      try $0.first("SELECT count(*) FROM sync.migrations") { try $0.integer(0) }
    }
    #expect(count == 2)
  }

  @Test(arguments: TestEngine.available)
  func `the programs' own schema is created on an empty database`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try Database.open(scratch.location, owning: .sync)
    defer { database.close() }
    try database.checkWritable()
  }

  @Test func `SQLite's files are readable by their user only`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let database = try scratch.open()
    defer { database.close() }
    try database.insertItem(1)
    for name in ["sync.db", "billing.db", "sync.db-wal", "coffer.lock"] {
      #expect(Files.permissions("\(scratch.directory.path)/database/\(name)") == 0o600, "\(name)")
    }
  }

  @Test func `a directory with odd characters in its name is used as it is written`() throws {
    let scratch = try ScratchDirectory()
    let path = "\(scratch.path)/a b?mode=ro#c%20d"
    let location = try #require(DatabaseLocation("sqlite://\(path)"))
    let database = try Database.open(location, owning: .sync)
    defer { database.close() }
    try database.checkWritable()
    #expect(Files.names(in: path).contains("sync.db"))
  }

  @Test func `a held lock file delays the start until its deadline`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let lock = try LockedFile("\(scratch.directory.path)/database/coffer.lock")
    #expect(throws: DatabaseError.self) {
      try scratch.open { $0.startWait = .milliseconds(100) }
    }
    lock.release()
    try scratch.open().close()
  }

  @Test(arguments: [
    "sqlite://relative", "sqlite://", "sqlite:///", "mysql://host/db", "", "/var/lib/coffer",
    "sqlite:///a\u{0}b",
  ])
  func `a location that is neither engine's is refused`(url: String) {
    #expect(DatabaseLocation(url) == nil)
  }

  @Test func `two processes starting at once both start`() async throws {
    let scratch = try ScratchDirectory()
    async let one: Void = Self.startInAnotherProcess(scratch.path)
    async let two: Void = Self.startInAnotherProcess(scratch.path)
    _ = await (one, two)
  }

  private static func startInAnotherProcess(_ path: String) async {
    await #expect(processExitsWith: .success) { [path] in
      for schema in [Schema.sync, .billing] {
        let database = try Database.open(.sqlite(directory: path), owning: schema)
        try database.checkWritable()
        database.close()
      }
    }
  }
}
