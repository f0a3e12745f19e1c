import Base
import Storage
import TestEngines
import Testing

/// The cost of transactions, which is counted so that tests can bound it.
@Suite struct WorkTests {
  @Test(arguments: TestEngine.available)
  func `a write counts its statements, the rows they return and the rows they change`(
    engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    for id in 1...10 { try database.insertItem(id) }
    let before = database.writeWork
    try database.write(for: nil) { transaction in
      _ = try transaction.rows("SELECT id FROM sync.items WHERE id <= 4") { try $0.integer(0) }
      try transaction.execute("UPDATE sync.items SET amount = 1 WHERE id <= 3")
    }
    let work = database.writeWork - before
    #expect(work.statementCount == 2)
    #expect(work.returnedRowCount == 4)
    #expect(work.changedRowCount == 3)
    #expect(database.readWork == DatabaseWork())
  }

  @Test(arguments: TestEngine.available)
  func `a refused write counts like another, for it held the lock as long`(
    engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    let before = database.writeWork
    #expect(throws: Refusal.self) {
      try database.write(for: nil) { transaction in
        try transaction.execute("INSERT INTO sync.items (id) VALUES (1)")
        throw Refusal(reason: "over the cap")
      }
    }
    #expect((database.writeWork - before).changedRowCount == 1)
  }

  @Test(arguments: TestEngine.available)
  func `reads are counted apart from writes`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open()
    defer { database.close() }
    for id in 1...10 { try database.insertItem(id) }
    let (writes, reads) = (database.writeWork, database.readWork)
    _ = try database.itemIDs()
    #expect(database.writeWork == writes)
    #expect((database.readWork - reads).returnedRowCount == 10)
  }

  @Test func `rows that SQLite looks at and does not return show as steps`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let database = try scratch.open()
    defer { database.close() }
    for id in 1...100 { try database.insertItem(id) }
    func steps(_ sql: String) throws -> Int64 {
      let before = database.readWork
      _ = try database.read { reader in try reader.first(sql) { try $0.integer(0) } }
      return (database.readWork - before).stepCount
    }
    let scan = try steps("SELECT id FROM sync.items WHERE amount = 1")
    let look = try steps("SELECT id FROM sync.items WHERE id = 50")
    #expect(scan > 200 && look < 50)
  }
}
