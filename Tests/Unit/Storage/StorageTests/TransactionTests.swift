import Base
import Storage
import TestEngines
import Testing

@Suite struct TransactionTests {
  @Test(arguments: TestEngine.available)
  func `a thrown refusal undoes the write and reaches its caller`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    #expect(throws: Refusal(reason: "over the cap")) {
      try database.write(for: nil) { transaction in
        try transaction.execute("INSERT INTO sync.items (id) VALUES (1)")
        throw Refusal(reason: "over the cap")
      }
    }
    #expect(try database.itemIDs() == [])
  }

  @Test(arguments: TestEngine.available)
  func `a statement that failed ends the write even when caught`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    try database.insertItem(1)
    let error = #expect(throws: DatabaseError.self) {
      try database.write(for: nil) { transaction in
        try transaction.execute("INSERT INTO sync.items (id) VALUES (2)")
        do {
          try transaction.execute("INSERT INTO sync.items (id) VALUES (1)")
        } catch {
          throw Refusal(reason: "there is one already")
        }
      }
    }
    guard case .constraint = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try database.itemIDs() == [1])
  }

  @Test(arguments: TestEngine.available)
  func `after a failed statement every further one fails`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    try database.insertItem(1)
    let second = Collector<Outcome>()
    #expect(throws: DatabaseError.self) {
      try database.write(for: nil) { transaction in
        let sql = "INSERT INTO sync.items (id) VALUES ($1)"
        _ = Result { try transaction.execute(sql, .integer(1)) }
        second.add(Outcome(Result { try transaction.execute(sql, .integer(2)) }))
      }
    }
    guard case .failure(.constraint) = second.current.first else {
      Issue.record("\(second.current)")
      return
    }
    #expect(try database.itemIDs() == [1])
  }

  @Test(
    arguments: TestEngine.available,
    [
      "INSERT INTO sync.items (id, amount) VALUES (2, -1)",
      "INSERT INTO sync.items (id, name) VALUES (2, 'taken')",
      "INSERT INTO sync.parts (id, item) VALUES (1, 99)",
      "INSERT INTO sync.parts (id) VALUES (1)",
    ])
  func `what the schema forbids is typed as a constraint`(engine: TestEngine, sql: String) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    try database.write(for: nil) {
      try $0.execute("INSERT INTO sync.items (id, name) VALUES (1, 'taken')")
    }
    let error = #expect(throws: DatabaseError.self) {
      try database.write(for: nil) { try $0.execute(sql) }
    }
    guard case .constraint = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test(arguments: TestEngine.available)
  func `a reader cannot write`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    let error = #expect(throws: DatabaseError.self) {
      try database.read {
        try $0.rows("INSERT INTO sync.items (id) VALUES (1) RETURNING id") { try $0.integer(0) }
      }
    }
    guard case .statement = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try database.itemIDs() == [])
  }

  @Test(arguments: TestEngine.available, ["COMMIT", "ROLLBACK"])
  func `a write cannot end its own transaction`(engine: TestEngine, sql: String) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    let error = #expect(throws: DatabaseError.self) {
      try database.write(for: nil) { try $0.execute(sql) }
    }
    guard case .statement = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    try database.insertItem(1)
    #expect(try database.itemIDs() == [1])
  }

  @Test(arguments: TestEngine.available)
  func `two unique values are swapped by way of NULL`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    let names = try database.write(for: nil) { transaction in
      try transaction.execute("INSERT INTO sync.items (id, name) VALUES (1, 'a'), (2, 'b')")
      try transaction.execute("UPDATE sync.items SET name = NULL WHERE id = 1")
      try transaction.execute("UPDATE sync.items SET name = 'a' WHERE id = 2")
      try transaction.execute("UPDATE sync.items SET name = 'b' WHERE id = 1")
      return try transaction.rows("SELECT name FROM sync.items ORDER BY id") { try $0.text(0) }
    }
    #expect(names == ["b", "a"])
  }

  @Test(arguments: TestEngine.available)
  func `a submitted read sees what was committed before it`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    try database.insertItem(7)
    let found = Collector<[Int64]>()
    database.submitRead(for: nil) { reader in
      try reader.rows("SELECT id FROM sync.items") { try $0.integer(0) }
    } completion: { result in
      found.add((try? result.get()) ?? [])
    }
    #expect(found.wait(1) == [[7]])
  }

  @Test(arguments: TestEngine.available)
  func `a database that accepts writes says so`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    for schema in Schema.allCases {
      let database = try scratch.open(schema)
      defer { database.close() }
      try database.checkWritable()
    }
  }

  @Test(arguments: TestEngine.available)
  func `close finishes queued writes and refuses later work`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    let outcomes = Collector<Outcome>()
    for id in 1...100 {
      database.submitWrite(for: nil) { transaction in
        try transaction.execute("INSERT INTO sync.items (id) VALUES ($1)", .integer(id))
      } completion: {
        outcomes.add(Outcome($0))
      }
    }
    database.close()
    #expect(outcomes.current == Array(repeating: .success, count: 100))
    #expect(throws: DatabaseError.unavailable(reason: "the database is closed")) {
      try database.insertItem(101)
    }
    #expect(throws: DatabaseError.unavailable(reason: "the database is closed")) {
      try database.itemIDs()
    }
  }

  @Test func `a transaction that escapes its body traps when used`() async {
    await #expect(processExitsWith: .failure) {
      let database = try ScratchDatabase(.sqlite).open()
      let reader = try database.read { $0 }
      _ = try reader.rows("SELECT 1") { try $0.integer(0) }
    }
  }
}
