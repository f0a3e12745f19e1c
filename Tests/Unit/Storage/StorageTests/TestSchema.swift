import Base
import Postgres
import Storage
import TestEngines

extension ScratchDatabase {
  /// Opens the database with the tests' own small schema.
  func open(
    _ schema: Schema = .sync, preparation: Database.Preparation = .migrates,
    _ change: (inout DatabaseOptions) -> Void = { _ in }
  ) throws -> Database {
    var options = Self.options
    change(&options)
    return try Database.open(location, owning: schema, preparation, options: options)
  }

  /// Options with the tests' own schema, for a process that knows only where the database is.
  static var options: DatabaseOptions {
    var options = DatabaseOptions()
    options.syncMigrations = [migration(1, syncSchema)]
    options.billingMigrations = [migration(1, billingSchema)]
    return options
  }

  /// A separate connection to a PostgreSQL scratch database.
  func connectPostgres() throws -> PostgresConnection {
    guard case .postgres(let url) = location else { throw Refusal(reason: "no PostgreSQL") }
    return try PostgresConnection(url: url, connectSeconds: 5, answerWait: .seconds(30))
  }

  private static let syncSchema = """
    CREATE TABLE items (
      id INTEGER PRIMARY KEY,
      name TEXT UNIQUE,
      body BLOB,
      amount INTEGER CHECK (amount >= 0)
    ) STRICT;
    CREATE TABLE owners (
      id BLOB NOT NULL PRIMARY KEY,
      seq INTEGER NOT NULL,
      usage INTEGER NOT NULL CHECK (usage >= 0)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE parts (
      id INTEGER PRIMARY KEY,
      item INTEGER NOT NULL REFERENCES items (id)
    ) STRICT;
    """

  private static let billingSchema = """
    CREATE TABLE counters (
      id INTEGER PRIMARY KEY,
      value INTEGER NOT NULL
    ) STRICT;
    """
}

extension Database {
  /// Inserts one item in its own transaction.
  func insertItem(_ id: Int, body: [UInt8]? = nil, for account: Identifier? = nil) throws {
    try write(for: account) { transaction in
      try transaction.execute(
        "INSERT INTO sync.items (id, body) VALUES ($1, $2)", .integer(id), .blob(body))
    }
  }

  func itemIDs() throws -> [Int] {
    try read { reader in
      try reader.rows("SELECT id FROM sync.items ORDER BY id") { Int(try $0.integer(0)) }
    }
  }
}
