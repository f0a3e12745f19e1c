import Base
import Storage
import TestEngines
import Testing

/// Which work waits, for how long, and what happens if there is too much.
@Suite struct LoadTests {
  @Test(arguments: TestEngine.available)
  func `an account that floods does not delay another's write`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open { $0.writeConnectionCount = 1 }
    defer { database.close() }
    let gate = Gate()
    let order = Collector<String>()
    let flooder = Identifier(high: 1, low: 1)
    database.submitWrite(for: nil) { _ in
      gate.pass()
    } completion: { _ in
      order.add("gate")
    }
    gate.waitForArrival()
    for id in 1...200 {
      database.submitWrite(for: flooder) { transaction in
        try transaction.execute("INSERT INTO sync.items (id) VALUES ($1)", .integer(id))
      } completion: { _ in
        order.add("flood")
      }
    }
    database.submitWrite(for: Identifier(high: 2, low: 2)) { transaction in
      try transaction.execute("INSERT INTO sync.items (id) VALUES (1000)")
    } completion: { _ in
      order.add("other")
    }
    gate.open()
    let place = order.wait(202).firstIndex(of: "other")
    #expect(place == 2)
  }

  @Test func `under a lasting flood another's write is in one of the next batches`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let database = try scratch.open { $0.batchCountMax = 8 }
    defer { database.close() }
    let flooded = Locked(0)
    let isOver = Locked(false)
    let flooder = Identifier(high: 1, low: 1)
    let threads = (0..<64).map { number in
      Thread {
        var id = number * 1_000_000
        while !isOver.withLock({ $0 }) {
          id += 1
          _ = Result { try database.insertItem(id, for: flooder) }
          flooded.withLock { $0 += 1 }
        }
      }
    }
    defer { for thread in threads { thread.join() } }
    defer { isOver.withLock { $0 = true } }
    for _ in 1...20 {
      let counts = Collector<Int>()
      database.submitWrite(for: Identifier(high: 2, low: 2)) { _ in
        flooded.withLock { $0 }
      } completion: { result in
        counts.add((try? result.get()) ?? .max)
      }
      // Read after the write is queued, so that a delay of this thread does not count.
      let before = flooded.withLock { $0 }
      let atItsTurn = try #require(counts.wait(1).first)
      // The running batch, the one after it, and threads that had not counted their writes yet.
      #expect(atItsTurn - before <= 3 * 8 + 64)
    }
  }

  @Test(arguments: TestEngine.available)
  func `writes beyond the queue's bound are busy at once`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open {
      $0.writeConnectionCount = 1
      $0.queuedWriteCountMax = 10
    }
    defer { database.close() }
    let gate = Gate()
    let outcomes = Collector<Outcome>()
    database.submitWrite(for: nil) { _ in
      gate.pass()
    } completion: { _ in
    }
    gate.waitForArrival()
    for _ in 0..<25 {
      database.submitWrite(for: nil) { _ in
      } completion: {
        outcomes.add(Outcome($0))
      }
    }
    #expect(
      outcomes.current == Array(repeating: .failure(.busy(retryAfterSeconds: 1)), count: 15))
    gate.open()
    #expect(outcomes.wait(25).filter { $0 == .success }.count == 10)
  }

  @Test(arguments: TestEngine.available)
  func `a write past its deadline is busy and is not run`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open {
      $0.writeConnectionCount = 1
      $0.writeWait = .milliseconds(50)
    }
    defer { database.close() }
    let gate = Gate()
    let outcomes = Collector<Outcome>()
    let runs = Locked(0)
    database.submitWrite(for: nil) { _ in
      gate.pass()
    } completion: { _ in
    }
    gate.waitForArrival()
    database.submitWrite(for: nil) { _ in
      runs.withLock { $0 += 1 }
    } completion: {
      outcomes.add(Outcome($0))
    }
    _ = outcomes.wait(1, within: .milliseconds(100))
    gate.open()
    #expect(outcomes.wait(1) == [.failure(.busy(retryAfterSeconds: 1))])
    #expect(runs.withLock { $0 } == 0)
  }

  @Test(arguments: TestEngine.available)
  func `reads beyond the connections wait and then are busy`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open {
      $0.readConnectionCountMax = 1
      $0.readWait = .milliseconds(100)
    }
    defer { database.close() }
    let gate = Gate()
    let reader = Thread { _ = Result { try database.read { _ in gate.pass() } } }
    gate.waitForArrival()
    #expect(throws: DatabaseError.busy(retryAfterSeconds: 1)) { try database.itemIDs() }
    gate.open()
    reader.join()
    #expect(try database.itemIDs() == [])
  }

  @Test(arguments: TestEngine.available)
  func `a read that takes too long is ended and the connection lives on`(
    engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open {
      $0.readTime = .milliseconds(200)
      $0.readConnectionCountMax = 1
    }
    defer { database.close() }
    let endless = """
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
      SELECT count(*) FROM numbers WHERE n < 0
      """
    #expect(
      throws: DatabaseError.unavailable(reason: "the statement took longer than allowed")
    ) {
      try database.read { try $0.first(endless) { try $0.integer(0) } }
    }
    #expect(try database.itemIDs() == [])
  }

  @Test func `writes that arrive together share a commit`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let database = try scratch.open()
    defer { database.close() }
    let gate = Gate()
    let outcomes = Collector<Outcome>()
    database.submitWrite(for: nil) { _ in
      gate.pass()
    } completion: {
      outcomes.add(Outcome($0))
    }
    gate.waitForArrival()
    let framesBefore = logFrameCount(scratch)
    for id in 1...100 {
      database.submitWrite(for: nil) { transaction in
        try transaction.execute("INSERT INTO sync.items (id) VALUES ($1)", .integer(id))
      } completion: {
        outcomes.add(Outcome($0))
      }
    }
    gate.open()
    #expect(outcomes.wait(101) == Array(repeating: .success, count: 101))
    // One page of 100 small rows and its neighbours, not one page for each of 100 commits.
    #expect(logFrameCount(scratch) - framesBefore < 10)
  }

  private func logFrameCount(_ scratch: ScratchDatabase) -> Int {
    fileSize("\(scratch.directory.path)/database/sync.db-wal") / (4096 + 24)
  }
}
