import Base
import Postgres
import Storage
import TestEngines
import TestFiles
import Testing

/// Rows of one schema mean nothing without those of the other.
struct HalfDatabaseTests {
  private static let preparations: [Database.Preparation] = [
    .migrates, .requiresSchema, .acceptsEarlier,
  ]

  private func open(
    _ scratch: ScratchDatabase, _ preparation: Database.Preparation = .migrates
  ) throws {
    try Database.open(scratch.location, owning: .sync, preparation).close()
  }

  private func refusal(_ scratch: ScratchDatabase, without lost: Schema) -> DatabaseError {
    let place =
      switch scratch.location {
      case .sqlite(let directory): "the database in \(directory)"
      case .postgres: "the PostgreSQL database"
      }
    return .migration(
      "half of \(place) is lost: \(lost) is missing or empty, and \(lost.other) is not",
      remedy: "restore both from one backup")
  }

  /// Empties a schema, as after a restore that a full disk cut off or that was of one schema only.
  private func empty(_ schema: Schema, of scratch: ScratchDatabase) throws {
    switch scratch.location {
    case .sqlite(let directory):
      for log in ["-wal", "-shm"] { _ = Files.remove("\(directory)/\(schema).db\(log)") }
      try Files.write("", to: "\(directory)/\(schema).db")
    case .postgres:
      try scratch.connectPostgres().execute("DROP SCHEMA \(schema) CASCADE")
    }
  }

  /// Writes the first row that a server writes into its schema.
  private func use(_ schema: Schema, of scratch: ScratchDatabase) throws {
    let database = try Database.open(scratch.location, owning: schema)
    defer { database.close() }
    try database.write(for: nil) { transaction in
      switch schema {
      case .sync:
        try transaction.execute(
          "INSERT INTO sync.history (id, history_id, cursor_key) VALUES (1, $1, $1)",
          .id(Identifier(high: 1, low: 1)))
      case .billing:
        try transaction.execute(
          """
          INSERT INTO billing.rules_in_force
            (id, number, digest, catalogue, content, applied, since_ms)
          VALUES (1, 1, $1, $1, $1, 1, 0)
          """, .text("{}"))
      }
    }
  }

  /// Expects that every way of opening the database is refused.
  private func expectRefusal(of scratch: ScratchDatabase, without lost: Schema) {
    for preparation in Self.preparations {
      #expect(throws: refusal(scratch, without: lost)) { try open(scratch, preparation) }
    }
  }

  @Test(arguments: TestEngine.available, Schema.allCases)
  func `nobody goes on with a used schema whose other half is empty, or makes it anew`(
    engine: TestEngine, lost: Schema
  ) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    try use(lost.other, of: scratch)
    try empty(lost, of: scratch)
    expectRefusal(of: scratch, without: lost)
  }

  /// Sync is created first, so an interrupted start cannot leave this state.
  @Test(arguments: TestEngine.available)
  func `an empty half of accounts is refused though nobody has worked with the other`(
    engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    try empty(.sync, of: scratch)
    expectRefusal(of: scratch, without: .sync)
  }

  @Test(arguments: TestEngine.available)
  func `a start that was cut off before anybody worked with the database goes on`(
    engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    try empty(.billing, of: scratch)
    try open(scratch)
    try open(scratch, .requiresSchema)
  }

  @Test(arguments: Schema.allCases, preparations)
  func `a file of two is refused, and no other is made`(
    missing: Schema, preparation: Database.Preparation
  ) throws {
    let scratch = try ScratchDatabase(.sqlite, with: .schemas)
    let path = "\(scratch.directory.path)/database/\(missing).db"
    #expect(Files.remove(path))
    #expect(throws: refusal(scratch, without: missing)) { try open(scratch, preparation) }
    #expect(Files.permissions(path) == nil)
  }

  @Test func `a first start that was cut off between the two files goes on`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    try Files.write("", to: "\(scratch.directory.path)/database/sync.db")
    try open(scratch)
    try open(scratch, .requiresSchema)
  }
}
