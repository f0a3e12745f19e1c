import Base
import SQLite
import Storage
import TestEngines
import Testing

/// The effect of one failing write on the others of its batch: none.
@Suite struct BatchTests {
  @Test func `a refusal, a violation and a wrong statement fail alone`() throws {
    let bench = try BatchBench()
    try bench.run([
      bench.insertion(1),
      bench.request(2) { transaction in
        try transaction.execute("INSERT INTO sync.items (id) VALUES (2)")
        throw Refusal(reason: "no")
      },
      bench.insertion(3),
      bench.request(4) { try $0.execute("INSERT INTO sync.items (id) VALUES (1)") },
      bench.insertion(5),
      bench.request(6) { transaction in
        try transaction.execute("INSERT INTO sync.items (id) VALUES (6)")
        try transaction.execute("INSERT INTO sync.nowhere (id) VALUES (6)")
      },
      bench.insertion(7),
    ])
    #expect(bench.succeeded == [1, 3, 5, 7])
    #expect(try bench.stored() == [1, 3, 5, 7])
    #expect(bench.outcome(of: 2) == .refusal(Refusal(reason: "no")))
  }

  @Test func `nobody is answered before the commit`() throws {
    let bench = try BatchBench()
    var batch = SQLiteBatch(on: bench.connection, counting: WorkCounter(.write))
    try batch.begin()
    for request in [bench.insertion(1), bench.request(2) { _ in throw Refusal(reason: "no") }] {
      let isOpen = batch.run(request)
      #expect(isOpen)
    }
    #expect(bench.outcomes.current.isEmpty)
    batch.commit()
    #expect(bench.outcomes.current.map(\.0) == [1, 2])
  }

  @Test func `an interrupted write takes the transaction but not its neighbours' writes`() throws {
    let bench = try BatchBench()
    let attempts = Locked(0)
    // The statement interrupts itself: SQLite checks the flag while it runs.
    try bench.run([
      bench.insertion(1), bench.insertion(2),
      bench.request(3) { [interrupter = bench.interrupter] transaction in
        attempts.withLock { $0 += 1 }
        let sql = "INSERT INTO sync.items (id) SELECT id + 1000 FROM sync.items RETURNING id"
        try transaction.query(sql, []) { _ in
          interrupter.interrupt()
          return true
        }
      },
      bench.insertion(4),
    ])
    #expect(attempts.withLock { $0 } == 1)
    #expect(bench.succeeded == [1, 2, 4])
    #expect(try bench.stored() == [1, 2, 4])
    guard case .failure = bench.outcome(of: 3) else {
      Issue.record("\(bench.outcomes.current)")
      return
    }
  }

  @Test func `a full file fails the write that does not fit and no other`() throws {
    let bench = try BatchBench()
    let pageCount = try bench.connection.integer("PRAGMA sync.page_count")
    try bench.connection.execute("PRAGMA sync.max_page_count = \(pageCount + 20)")
    try bench.run([
      bench.insertion(1), bench.insertion(2, byteCount: 10_000), bench.insertion(3),
      bench.insertion(4, byteCount: 500_000), bench.insertion(5),
      bench.insertion(6, byteCount: 10_000),
    ])
    #expect(bench.outcome(of: 4) == .failure(.unavailable(reason: "the disk is full")))
    #expect(bench.succeeded == [1, 2, 3, 5, 6])
    #expect(try bench.stored() == [1, 2, 3, 5, 6])
  }

  @Test func `writes fit again once there is space`() throws {
    let bench = try BatchBench()
    let pageCount = try bench.connection.integer("PRAGMA sync.page_count")
    try bench.connection.execute("PRAGMA sync.max_page_count = \(pageCount)")
    try bench.run([bench.insertion(1, byteCount: 500_000)])
    try bench.connection.execute("PRAGMA sync.max_page_count = \(pageCount + 1000)")
    try bench.run([bench.insertion(2, byteCount: 500_000)])
    #expect(bench.succeeded == [2])
  }

  @Test func `a commit that fails is repeated for each write alone`() throws {
    let bench = try BatchBench()
    // A deferred constraint passes its savepoint and fails the commit. The schema forbids such constraints,
    // so this simulates a disk that fails at the commit.
    try bench.connection.execute("PRAGMA defer_foreign_keys = ON")
    try bench.run([
      bench.insertion(1),
      bench.request(2) { transaction in
        try transaction.query("PRAGMA defer_foreign_keys = ON", []) { _ in true }
        try transaction.execute("INSERT INTO sync.parts (id, item) VALUES (1, 99)")
      },
      bench.insertion(3),
    ])
    #expect(bench.succeeded == [1, 3])
    #expect(try bench.stored() == [1, 3])
    guard case .failure(.constraint) = bench.outcome(of: 2) else {
      Issue.record("\(bench.outcomes.current)")
      return
    }
  }

  @Test func `a commit that the disk failed may have happened, and one without room has not`() {
    let failed = SQLiteError(code: 10, message: "disk I/O error")
    #expect(failed.failureOfCommit == .uncertain(reason: "disk I/O error"))
    let full = SQLiteError(code: 13, message: "database or disk is full")
    #expect(full.failureOfCommit == .unavailable(reason: "the disk is full"))
  }

  @Test(arguments: [
    "SELECT id FROM sync.items",
    "INSERT INTO sync.items (id) VALUES (0) ON CONFLICT (id) DO NOTHING",
    "UPDATE sync.items SET amount = amount WHERE id = 0",
    "UPDATE sync.items SET amount = amount WHERE id >= 0 RETURNING amount",
    "UPDATE sync.items SET amount = 1 WHERE id = 99",
    "DELETE FROM sync.parts",
  ])
  func `a refusal that changed nothing has nobody run again`(sql: String) throws {
    #expect(try runCount(ofNeighbourOfRefusalAfter: sql) == 1)
  }

  @Test(arguments: [
    "UPDATE sync.items SET amount = amount + 1 WHERE id = 0",
    "UPDATE sync.items SET amount = amount , name = 'b' WHERE id = 0",
    "UPDATE sync.items SET amount = amount, name = 'b' WHERE id = 0",
    "UPDATE sync.items SET name = amount WHERE id = 0",
    "INSERT INTO sync.items (id) VALUES (7)",
    "INSERT INTO sync.items (id) VALUES (0) ON CONFLICT (id) DO UPDATE SET amount = 5",
    "DELETE FROM sync.items WHERE id = 0",
  ])
  func `a refusal that changed something is undone and its neighbours run again`(
    sql: String
  ) throws {
    #expect(try runCount(ofNeighbourOfRefusalAfter: sql) == 2)
  }

  private func runCount(ofNeighbourOfRefusalAfter sql: String) throws -> Int {
    let bench = try BatchBench()
    try bench.connection.execute("INSERT INTO sync.items (id, name, amount) VALUES (0, 'a', 0)")
    let runCount = Locked(0)
    try bench.run([
      bench.request(1) { transaction in
        runCount.withLock { $0 += 1 }
        try transaction.execute("INSERT INTO sync.items (id) VALUES (1)")
      },
      bench.request(2) { transaction in
        try transaction.query(sql, []) { _ in true }
        throw Refusal(reason: "no")
      },
    ])
    #expect(bench.outcomes.current.map(\.1) == [.success, .refusal(Refusal(reason: "no"))])
    #expect(try bench.stored() == [0, 1])
    _ = try bench.connection.perform("SELECT name, amount FROM sync.items WHERE id = 0", []) {
      let (name, amount) = (try $0.text(0), try $0.integer(1))
      #expect(name == "a" && amount == 0)
      return true
    }
    return runCount.withLock { $0 }
  }

  @Test func `the batch after one that ran again has savepoints from its start`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let database = try scratch.open {
      $0.batchCountMax = 4
      $0.batchTime = .seconds(60)
    }
    defer { database.close() }
    let gate = Gate()
    let runCounts = Locked([Int](repeating: 0, count: 16))
    let outcomes = Collector<(Int, Outcome)>()
    let repeatedBefore = repeatedBatchCount()
    // In the first, second and fourth batch of four, the third member refuses after its write.
    for member in 0..<16 {
      database.submitWrite(for: nil) { transaction in
        if member == 0 { gate.pass() }
        runCounts.withLock { $0[member] += 1 }
        try transaction.execute("INSERT INTO sync.items (id) VALUES ($1)", .integer(member))
        if [2, 6, 14].contains(member) { throw Refusal(reason: "no") }
      } completion: {
        outcomes.add((member, Outcome($0)))
      }
      if member == 0 { gate.waitForArrival() }
    }
    gate.open()
    #expect(outcomes.wait(16).map(\.0) == Array(0..<16))
    #expect(runCounts.withLock { $0 } == [2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 1])
    #expect(try database.itemIDs() == (0..<16).filter { ![2, 6, 14].contains($0) })
    // Other tests may repeat batches at the same time.
    #expect(repeatedBatchCount() >= repeatedBefore + 2)
  }

  private func repeatedBatchCount() -> Int {
    let name = "coffer_storage_repeated_batches_total "
    let line = Metrics.shared.render().split(separator: "\n").first { $0.hasPrefix(name) }
    return line.flatMap { Int($0.dropFirst(name.count)) } ?? 0
  }
}
