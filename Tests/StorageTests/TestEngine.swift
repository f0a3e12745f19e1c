import Base
import Glibc
import Postgres
import Storage

/// The engines that this machine can test.
///
/// PostgreSQL takes part when COFFER_TEST_POSTGRES holds the URL of a throw-away cluster
/// (`ops/postgres start DIR` prints one); every test then gets a database of its own in it.
enum TestEngine: String, Sendable, CaseIterable {
  case sqlite
  case postgres

  static var available: [TestEngine] { postgresURL == nil ? [.sqlite] : [.sqlite, .postgres] }

  static var postgresURL: String? {
    guard let text = unsafe getenv("COFFER_TEST_POSTGRES") else { return nil }
    let url = unsafe String(cString: text)
    return url.isEmpty ? nil : url
  }
}

/// An empty database of one test, removed when the test lets go of it.
final class ScratchDatabase: Sendable {
  let location: DatabaseLocation
  /// SQLite's directory, for tests that look behind the wrapper.
  let directory: ScratchDirectory?

  private let name: String

  /// `parent` is where SQLite's directory goes, `encoding` how PostgreSQL keeps text.
  init(_ engine: TestEngine, in parent: String = "/tmp", encoding: String = "UTF8") throws {
    var random = SystemRandomNumberGenerator()
    name = "coffer_\(getpid())_\(String(random.next(), radix: 36))"
    switch engine {
    case .sqlite:
      let directory = ScratchDirectory(in: parent)
      self.directory = directory
      location = .sqlite(directory: directory.path)
    case .postgres:
      directory = nil
      location = .postgres(url: Secret(Self.url(of: name)))
      try Self.administer("CREATE DATABASE \(name) ENCODING '\(encoding)' TEMPLATE template0")
    }
  }

  deinit {
    guard directory == nil else { return }
    do {
      try Self.administer("DROP DATABASE \(name) WITH (FORCE)")
    } catch {
      print("scratch database \(name) stays behind: \(error)")
    }
  }

  /// A connection of its own to a PostgreSQL scratch database.
  func connectPostgres() throws -> PostgresConnection {
    try PostgresConnection(
      url: Secret(Self.url(of: name)), connectSeconds: 5, answerWait: .seconds(30))
  }

  /// Opens the database with the tests' own small schema.
  func open(
    _ schema: Schema = .sync, _ change: (inout DatabaseOptions) -> Void = { _ in }
  ) throws -> Database {
    var options = DatabaseOptions()
    options.syncMigrations = [migration(1, Self.syncSchema)]
    options.billingMigrations = [migration(1, Self.billingSchema)]
    change(&options)
    return try Database.open(location, owning: schema, options: options)
  }

  private static func administer(_ sql: String) throws {
    let connection = try PostgresConnection(
      url: Secret(TestEngine.postgresURL ?? ""), connectSeconds: 5, answerWait: .seconds(60))
    try connection.execute(sql)
  }

  /// The cluster's URL with another database name.
  private static func url(of database: String) -> String {
    let url = TestEngine.postgresURL ?? ""
    let query = url.drop { $0 != "?" }
    let base = url.prefix { $0 != "?" }
    let slash = base.lastIndex(of: "/") ?? base.endIndex
    return "\(base[..<slash])/\(database)\(query)"
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
  /// Inserts one item in a transaction of its own.
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
