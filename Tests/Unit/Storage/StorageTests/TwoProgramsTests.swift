import Base
import SQLite
import Storage
import TestEngines
import Testing

/// Several programs, or several instances of one, on one database.
@Suite struct TwoProgramsTests {
  @Test func `the other program's file is read-only`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let sync = try scratch.open(.sync)
    defer { sync.close() }
    #expect(throws: DatabaseError.statement("attempt to write a readonly database")) {
      try sync.write(for: nil) {
        try $0.execute("INSERT INTO billing.counters (id, value) VALUES (1, 1)")
      }
    }
    #expect(
      try sync.read {
        try $0.rows("SELECT id FROM billing.counters") { try $0.integer(0) }
      } == [])
  }

  @Test func `a read of the own schema does not see the other`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let sync = try scratch.open(.sync)
    defer { sync.close() }
    try sync.insertItem(1)
    let ids = try sync.readOwned { try $0.rows("SELECT id FROM sync.items") { try $0.integer(0) } }
    #expect(ids == [1])
    #expect(throws: DatabaseError.statement("no such table: billing.counters")) {
      try sync.readOwned {
        try $0.rows("SELECT id FROM billing.counters") { try $0.integer(0) }
      }
    }
  }

  @Test func `opening the files once more drops no lock of this process`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let first = try scratch.open(.sync)
    defer { first.close() }
    _ = try first.itemIDs()
    guard case .sqlite(let directory) = scratch.location else {
      throw Refusal(reason: "no SQLite")
    }
    let paths = ["sync", "billing"].map { "\(directory)/\($0).db" }
    let before = paths.map(ownLockCount)
    let second = try scratch.open(.billing)
    second.close()
    #expect(before.allSatisfy { $0 > 0 })
    // The first database may have taken more locks meanwhile.
    #expect(zip(paths.map(ownLockCount), before).allSatisfy { $0 >= $1 })
  }

  @Test(arguments: TestEngine.available)
  func `what one program commits the other reads`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let sync = try scratch.open(.sync)
    defer { sync.close() }
    let billing = try scratch.open(.billing)
    defer { billing.close() }
    try billing.write(for: nil) {
      try $0.execute("INSERT INTO billing.counters (id, value) VALUES (1, 30)")
    }
    let seen = try sync.write(for: nil) { transaction in
      try transaction.first("SELECT value FROM billing.counters WHERE id = 1") {
        try $0.integer(0)
      }
    }
    #expect(seen == 30)
  }

  @Test(arguments: TestEngine.available)
  func `a write of one program does not wait for the other's`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let sync = try scratch.open(.sync)
    defer { sync.close() }
    let billing = try scratch.open(.billing)
    defer { billing.close() }
    let gate = Gate()
    let done = Collector<Outcome>()
    billing.submitWrite(for: nil) { transaction in
      try transaction.execute("INSERT INTO billing.counters (id, value) VALUES (1, 1)")
      gate.pass()
    } completion: {
      done.add(Outcome($0))
    }
    gate.waitForArrival()
    try sync.insertItem(1)
    #expect(done.current.isEmpty)
    gate.open()
    #expect(done.wait(1) == [.success])
  }

  @Test(arguments: TestEngine.available)
  func `two instances of one program lose no update`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let instances = [try scratch.open(.sync), try scratch.open(.sync)]
    defer { for instance in instances { instance.close() } }
    try instances[0].insertItem(1)
    try instances[0].write(for: nil) { try $0.execute("UPDATE sync.items SET amount = 0") }
    let outcomes = Collector<Outcome>()
    let threads = instances.flatMap { instance in
      (0..<4).map { _ in
        Thread {
          for _ in 0..<25 {
            outcomes.add(
              Outcome(
                Result {
                  try instance.write(for: nil) {
                    try $0.execute("UPDATE sync.items SET amount = amount + 1 WHERE id = 1")
                  }
                }))
          }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(outcomes.current == Array(repeating: .success, count: 200))
    let total = try instances[1].read {
      try $0.first("SELECT amount FROM sync.items") { try $0.integer(0) }
    }
    #expect(total == 200)
  }

  @Test(arguments: TestEngine.available)
  func `eight programs starting at once all start, and migrate once`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let results = Collector<Result<Database, any Error>>()
    let threads = (0..<8).map { number in
      Thread {
        results.add(Result { try scratch.open(number % 2 == 0 ? .sync : .billing) })
      }
    }
    for thread in threads { thread.join() }
    let databases = try results.current.map { try $0.get() }
    defer { for database in databases { database.close() } }
    for database in databases { try database.checkWritable() }
    let counts = try databases[0].read { reader in
      try reader.first(
        """
        SELECT (SELECT count(*) FROM sync.migrations), (SELECT count(*) FROM billing.migrations)
        """
      ) { (try $0.integer(0), try $0.integer(1)) }
    }
    #expect(counts?.0 == 1)
    #expect(counts?.1 == 1)
  }

  @Test func `a lock of another process is typed, bounded and survived`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let database = try scratch.open { $0.lockWait = .milliseconds(300) }
    defer { database.close() }
    try database.insertItem(1)
    let intruder = try SQLiteConnection(
      file: "\(scratch.directory.path)/database/sync.db", busyTimeoutMilliseconds: 1000)
    try intruder.execute("BEGIN IMMEDIATE")
    let began = MonotonicTime.now()
    let outcomes = Collector<Outcome>()
    for id in 10..<20 {
      database.submitWrite(for: nil) { transaction in
        try transaction.execute("INSERT INTO sync.items (id) VALUES ($1)", .integer(id))
      } completion: {
        outcomes.add(Outcome($0))
      }
    }
    let locked = DatabaseError.unavailable(reason: "the database is locked by another process")
    #expect(outcomes.wait(1) == [.failure(locked)])
    #expect(MonotonicTime.now().seconds(since: began) < 5)
    // Readers are not affected.
    #expect(try database.itemIDs() == [1])
    try intruder.execute("COMMIT")
    let all = outcomes.wait(10)
    #expect(all.count == 10)
    #expect(all.allSatisfy { $0 == .success || $0 == .failure(locked) })
    try database.insertItem(2)
    #expect(try database.itemIDs().contains(2))
  }

  @Test func `while the lock lasts every queued write is answered by its deadline`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let database = try scratch.open {
      $0.lockWait = .seconds(30)
      $0.writeWait = .milliseconds(300)
    }
    defer { database.close() }
    let intruder = try SQLiteConnection(
      file: "\(scratch.directory.path)/database/sync.db", busyTimeoutMilliseconds: 1000)
    try intruder.execute("BEGIN IMMEDIATE")
    let outcomes = Collector<Outcome>()
    for _ in 0..<50 {
      database.submitWrite(for: nil) { _ in
      } completion: {
        outcomes.add(Outcome($0))
      }
    }
    let all = outcomes.wait(50, within: .seconds(5))
    #expect(
      all
        == Array(
          repeating: .failure(
            .unavailable(reason: "the database is locked by another process")), count: 50))
    try intruder.execute("COMMIT")
    try database.checkWritable()
  }

  @Test(arguments: TestEngine.available, [Schema.sync, .billing])
  func `a snapshot of both schemas is one moment`(engine: TestEngine, reading: Schema) throws {
    // In memory, commits are so fast that several fall between two snapshots begun one after the other.
    let scratch = try ScratchDatabase(engine, in: "/dev/shm")
    let sync = try scratch.open(.sync)
    defer { sync.close() }
    let billing = try scratch.open(.billing)
    defer { billing.close() }
    try sync.insertItem(1)
    try sync.write(for: nil) { try $0.execute("UPDATE sync.items SET amount = 0") }
    try billing.write(for: nil) {
      try $0.execute("INSERT INTO billing.counters (id, value) VALUES (1, 0)")
    }
    let isOver = Locked(false)
    // At every moment sync is equal to billing or one ahead.
    let writer = Thread {
      while !isOver.withLock({ $0 }) {
        _ = Result {
          try sync.write(for: nil) { try $0.execute("UPDATE sync.items SET amount = amount + 1") }
          return try billing.write(for: nil) {
            try $0.execute("UPDATE billing.counters SET value = value + 1")
          }
        }
      }
    }
    let database = reading == .sync ? sync : billing
    let differences = Locked<Set<Int64>>([])
    let readers = (0..<4).map { _ in
      Thread {
        for _ in 0..<1000 {
          let pair = Result {
            try database.read { reader in
              let value = try reader.first("SELECT value FROM billing.counters") {
                try $0.integer(0)
              }
              let amount = try reader.first("SELECT amount FROM sync.items") { try $0.integer(0) }
              return (amount ?? 0, value ?? 0)
            }
          }
          let difference = (try? pair.get()).map { $0.0 - $0.1 }
          differences.withLock { _ = $0.insert(difference ?? .max) }
        }
      }
    }
    for reader in readers { reader.join() }
    isOver.withLock { $0 = true }
    writer.join()
    #expect(differences.withLock { $0 }.isSubset(of: [0, 1]))
  }

  @Test func `a write reads both schemas as one moment`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let sync = try scratch.open(.sync)
    defer { sync.close() }
    let billing = try scratch.open(.billing)
    defer { billing.close() }
    try billing.write(for: nil) {
      try $0.execute("INSERT INTO billing.counters (id, value) VALUES (1, 0), (2, 0)")
    }
    let isOver = Locked(false)
    let writer = Thread {
      while !isOver.withLock({ $0 }) {
        _ = Result {
          try billing.write(for: nil) {
            try $0.execute("UPDATE billing.counters SET value = value + 1")
          }
        }
      }
    }
    for _ in 0..<300 {
      let values = try sync.write(for: nil) { transaction in
        let sql = "SELECT value FROM billing.counters WHERE id = $1"
        return [
          try transaction.first(sql, .integer(1)) { try $0.integer(0) },
          try transaction.first(sql, .integer(2)) { try $0.integer(0) },
        ]
      }
      #expect(values[0] == values[1])
    }
    isOver.withLock { $0 = true }
    writer.join()
  }
}
