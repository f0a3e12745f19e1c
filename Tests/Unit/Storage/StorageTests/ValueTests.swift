import Base
import Storage
import TestEngines
import Testing

@Suite struct ValueTests {
  @Test(arguments: TestEngine.available)
  func `every value comes back as it was stored`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    let texts: [String?] = [
      "", "x", "Grüße 🧾", "\u{1}'\"%_\\", String(repeating: "é", count: 5000), nil,
    ]
    let bodies: [[UInt8]?] = [
      [], [0], Array(0...255), Array(repeating: 7, count: 100_000), nil, [255],
    ]
    let amounts: [Int64?] = [0, 1, .max, nil, 1 << 53 + 1, 255]
    for index in texts.indices {
      try database.write(for: nil) { transaction in
        try transaction.execute(
          "INSERT INTO sync.items (id, name, body, amount) VALUES ($1, $2, $3, $4)",
          .integer(Int64.min + Int64(index)), .text(texts[index]), .blob(bodies[index]),
          .integer(amounts[index]))
      }
    }
    let rows = try database.read { reader in
      try reader.rows("SELECT id, name, body, amount FROM sync.items ORDER BY id") { row in
        (
          try row.integer(0), try row.optionalText(1), try row.optionalBlob(2),
          try row.optionalInteger(3)
        )
      }
    }
    #expect(rows.map(\.0) == texts.indices.map { Int64.min + Int64($0) })
    #expect(rows.map(\.1) == texts)
    #expect(rows.map(\.2) == bodies)
    #expect(rows.map(\.3) == amounts)
  }

  @Test(arguments: TestEngine.available)
  func `identifiers and instants come back as they were stored`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    let id = Identifier(high: 1 << 63, low: 42)
    let row = try database.write(for: nil) { transaction in
      try transaction.first(
        "INSERT INTO sync.items (id, body, amount) VALUES (1, $1, $2) RETURNING body, amount, name",
        .id(id), .instant(Instant(milliseconds: 1_767_225_600_123))
      ) { row in
        (try row.id(0), try row.instant(1), try row.optionalID(2), try row.optionalInstant(2))
      }
    }
    #expect(row?.0 == id)
    #expect(row?.1 == Instant(milliseconds: 1_767_225_600_123))
    #expect(row?.2 == nil)
    #expect(row?.3 == nil)
  }

  @Test(arguments: TestEngine.available)
  func `text sorts by its bytes`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    let names = ["a", "B", "ä", "Z", "_", "aa", "A"]
    try insert(names, into: database)
    let sorted = try database.read { reader in
      try reader.rows("SELECT name FROM sync.items ORDER BY name") { try $0.text(0) }
    }
    #expect(sorted == names.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) })
  }

  @Test(arguments: TestEngine.available)
  func `parameters are bound by number whatever their order`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    try insert(["one", "two", "three"], into: database)
    let found = try database.read { reader in
      try reader.rows(
        """
        SELECT id FROM sync.items
        WHERE name = $2 AND id > $1 AND id > $1 - 1 AND name <> $3 ORDER BY id
        """, .integer(1), .text("two"), .text("one")
      ) { try $0.integer(0) }
    }
    #expect(found == [2])
  }

  @Test(arguments: TestEngine.available)
  func `text with U+0000 is refused before it is bound`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    #expect(throws: DatabaseError.statement("text holds U+0000")) {
      try insert(["a\u{0}b"], into: database)
    }
  }

  @Test(arguments: TestEngine.available)
  func `a column of another type than asked for is an error`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    try insert(["x"], into: database)
    let sql = "SELECT id, name, body FROM sync.items"
    #expect(throws: DatabaseError.statement("column 0 holds integer, not text")) {
      try database.read { try $0.first(sql) { try $0.text(0) } }
    }
    #expect(throws: DatabaseError.statement("column 1 holds text, not integer")) {
      try database.read { try $0.first(sql) { try $0.optionalInteger(1) } }
    }
    #expect(throws: DatabaseError.statement("column 2 holds NULL")) {
      try database.read { try $0.first(sql) { try $0.blob(2) } }
    }
    #expect(throws: DatabaseError.statement("there is no column 3")) {
      try database.read { try $0.first(sql) { try $0.integer(3) } }
    }
  }

  @Test(arguments: TestEngine.available)
  func `a blob of another length is no identifier`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    try database.insertItem(1, body: [1, 2, 3])
    #expect(
      throws: DatabaseError.statement("column 0 holds 3 bytes, not an identifier's 16")
    ) {
      try database.read { try $0.first("SELECT body FROM sync.items") { try $0.id(0) } }
    }
  }

  @Test(
    arguments: TestEngine.available,
    [
      "SELECT id FROM sync.items WHERE id = $1 AND amount = $2",
      "SELECT nothing FROM sync.items WHERE id = $1",
      "SELEKT $1",
      "SELECT id FROM sync.items WHERE id = $1; SELECT 1",
    ])
  func `a wrong statement is typed as a bug`(engine: TestEngine, sql: String) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    let error = #expect(throws: DatabaseError.self) {
      try database.read { try $0.rows(sql, .integer(1)) { _ in 0 } }
    }
    guard case .statement = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test(arguments: [
    "SELECT id FROM sync.items WHERE name = $1::text", "SELECT id FROM sync.items WHERE name = ?",
    "SELECT id FROM sync.items WHERE name = $2", "SELECT id FROM sync.items",
    "SELECT id FROM sync.items WHERE name = :name", "SELECT \"nothing\" FROM sync.items",
  ])
  func `SQLite refuses what it would quietly misread`(sql: String) throws {
    let scratch = try ScratchDatabase(.sqlite)
    let database = try scratch.open()
    defer { database.close() }
    let error = #expect(throws: DatabaseError.self) {
      try database.read { try $0.rows(sql, .text("x")) { _ in 0 } }
    }
    guard case .statement = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test(arguments: TestEngine.available)
  func `one statement runs inside the rows of the same statement`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    try insert(["one", "two"], into: database)
    let sql = "SELECT id FROM sync.items ORDER BY id"
    let pairs = try database.read { reader in
      try reader.rows(sql) { _ in try reader.rows(sql) { try $0.integer(0) } }
    }
    #expect(pairs == [[1, 2], [1, 2]])
  }

  @Test(arguments: TestEngine.available)
  func `a write tells how many rows it changed`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    try insert(["one", "two", "three"], into: database)
    let counts = try database.write(for: nil) { transaction in
      [
        try transaction.execute("UPDATE sync.items SET amount = 1 WHERE id >= $1", .integer(2)),
        try transaction.execute("DELETE FROM sync.items WHERE id = 99"),
        try transaction.execute(
          "INSERT INTO sync.items (id) VALUES (1) ON CONFLICT (id) DO NOTHING"),
        try transaction.execute("DELETE FROM sync.items"),
      ]
    }
    #expect(counts == [2, 0, 0, 3])
  }

  /// Inserts the names under the ids 1, 2, ….
  private func insert(_ names: [String], into database: Database) throws {
    for (index, name) in names.enumerated() {
      try database.write(for: nil) { transaction in
        try transaction.execute(
          "INSERT INTO sync.items (id, name) VALUES ($1, $2)", .integer(index + 1), .text(name))
      }
    }
  }
}
