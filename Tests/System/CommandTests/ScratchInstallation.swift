import Accounts
import Base
import Storage
import TestEngines
import TestFiles

/// A directory for a database that does not exist yet, and settings for commands to use it at a fixed time.
struct ScratchInstallation {
  let scratch: ScratchDirectory
  let environment: [String: String]

  init(at now: Instant) throws {
    scratch = try ScratchDirectory()
    environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_MODE": "test", "COFFER_TEST_CLOCK": scratch.path + "/clock",
    ]
    try Files.write("\(now.milliseconds)\n", to: scratch.path + "/clock")
  }
}

extension ScratchDirectory {
  /// The database that commands use here.
  func database(of schema: Schema) throws -> Database {
    try Database.open(.sqlite(directory: path + "/database"), owning: schema)
  }

  /// As the first start of coffer-sync does.
  func establishHistory() throws {
    let database = try database(of: .sync)
    defer { database.close() }
    try History.establish(database)
  }

  /// Changes rows without the programs' knowledge, in one transaction.
  func change(
    _ schema: Schema, _ body: @escaping @Sendable (Transaction) throws -> Void
  ) throws {
    let database = try database(of: schema)
    defer { database.close() }
    try database.write(for: nil, body)
  }

  func change(_ schema: Schema, _ statements: (sql: String, values: [SQLValue])...) throws {
    try change(schema) { transaction in
      for (sql, values) in statements { try transaction.execute(sql, values: values) }
    }
  }
}

extension ScratchDatabase {
  /// The location as COFFER_DATABASE names it.
  var setting: String {
    switch location {
    case .sqlite(let directory): "sqlite://\(directory)"
    case .postgres(let url): String(decoding: url.exposed, as: UTF8.self)
    }
  }
}
