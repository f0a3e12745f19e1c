import Base
import Jobs
import Storage
import TestEngines
import Testing

@Suite struct LeaseTests {
  @Test(arguments: TestEngine.available)
  func `a request is leased once, and settled by its commit`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request(payload: [1, 2])
    let lease = try queue.lease()
    #expect(lease.readNumber == 1)
    #expect(lease.payload == [1, 2])
    #expect(try queue.leases().isEmpty)
    #expect(try queue.commit(lease))
    #expect(try queue.job().state == .settled)
    queue.pass(.days(1))
    #expect(try queue.leases().isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `a job waits until it is due`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request(due: queue.now + .seconds(10))
    try queue.request(due: queue.now + .seconds(20))
    queue.pass(.milliseconds(9_999))
    #expect(try queue.leases().isEmpty)
    queue.pass(.milliseconds(1))
    #expect(try queue.leases().count == 1)
  }

  @Test(arguments: TestEngine.available)
  func `the longest due come first, of the kind asked for`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    for (index, object) in ["c", "a", "b"].enumerated() {
      try queue.request(object, due: queue.now - .seconds(Int64(10 - index)))
    }
    try queue.request("d", kind: "other", due: queue.now - .seconds(60))
    #expect(try queue.leases(2).map(\.object).sorted() == ["a", "c"])
    #expect(try queue.leases(2).map(\.object) == ["b"])
  }

  @Test func `what is due later costs a look for work nothing, however much it is`() throws {
    let queue = try Queue(.sqlite)
    let steps = {
      let before = queue.database.readWork
      let now = queue.now
      let due = try queue.database.read { reader in
        try Jobs.earliestDue("k", lanes: 0...Int64.max, now: now, reading: reader)
      }
      #expect(due == nil)
      return (queue.database.readWork - before).stepCount
    }
    try queue.request("first", due: queue.now + .days(30))
    let few = try steps()
    for index in 0..<500 { try queue.request("\(index)", due: queue.now + .days(30)) }
    #expect(try steps() == few)
  }

  @Test(arguments: TestEngine.available)
  func `a request during a read is not lost`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request()
    let first = try queue.lease()
    try queue.request()
    #expect(try !queue.commit(first))
    #expect(try queue.leases().isEmpty)
    queue.pass(JobRules.pauseMin)
    let second = try queue.lease()
    #expect(second.readNumber == 2)
    #expect(try queue.commit(second))
  }

  @Test(arguments: TestEngine.available)
  func `a hundred requests before a read are one read`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    for _ in 0..<100 { try queue.request() }
    #expect(try queue.commit(try queue.lease()))
  }

  @Test(arguments: TestEngine.available)
  func `a reader that does not come back loses its lease`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request()
    let first = try queue.lease()
    queue.pass(.milliseconds(JobRules.leaseTime.milliseconds - 1))
    #expect(try queue.leases().isEmpty)
    queue.pass(.milliseconds(1))
    let second = try queue.lease()
    #expect(!first.isRepeated && second.isRepeated)
    #expect(second.readNumber == 2)
    #expect(second.attempts == 1)
  }

  @Test(arguments: TestEngine.available)
  func `a late commit settles what it read and leaves its successor alone`(
    _ engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    let (first, second) = try queue.overtaken()
    #expect(try queue.commit(first))
    #expect(try queue.commit(second))
    #expect(try queue.job().committed == 2)
  }

  @Test(arguments: TestEngine.available)
  func `a late commit does not settle a request that came after its read`(
    _ engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    let (first, second) = try queue.overtaken()
    try queue.request()
    #expect(try !queue.commit(first))
    #expect(try queue.leases().isEmpty)
    #expect(try !queue.commit(second))
    queue.pass(JobRules.pauseMin)
    #expect(try queue.lease().readNumber == 3)
  }

  @Test(arguments: TestEngine.available)
  func `an older commit after a newer one changes nothing`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request()
    let first = try queue.lease()
    queue.pass(JobRules.leaseTime)
    try queue.commit(try queue.lease())
    let before = try queue.job()
    try queue.commit(first)
    #expect(try queue.job() == before)
  }

  @Test(arguments: TestEngine.available)
  func `a late failure changes nothing`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request()
    let first = try queue.lease()
    queue.pass(JobRules.leaseTime)
    _ = try queue.lease()
    let before = try queue.job()
    try queue.retry(first, .refused("late"))
    #expect(try queue.job() == before)
  }

  @Test(arguments: TestEngine.available)
  func `a failure after a late commit leaves the job settled`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    let (first, second) = try queue.overtaken()
    try queue.commit(first)
    try queue.retry(second, .refused("late"))
    #expect(try queue.job().state == .settled)
  }

  @Test(arguments: TestEngine.available)
  func `a late commit ends the failure that its lateness was`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    let (first, second) = try queue.overtaken()
    let late = try queue.job()
    #expect(late.failingSince == queue.now)
    #expect(late.lastError == "the reader did not come back in time")
    try queue.commit(first)
    let settled = try queue.job()
    #expect(settled.failingSince == nil && settled.lastError == nil)
    try queue.retry(second, .refused("late"))
    let after = try queue.job()
    #expect(after.failingSince == nil && after.lastError == nil)
  }

  @Test(arguments: TestEngine.available)
  func `a request that is rolled back is none`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    let now = queue.now
    #expect(throws: JobFailure.refused("undone")) {
      try queue.database.write(for: nil) { transaction in
        try Jobs.request("k", "a", due: now, in: transaction)
        throw JobFailure.refused("undone")
      }
    }
    #expect(try queue.leases().isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `many runners lease each job once`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    for number in 0..<100 { try queue.request("job\(number)") }
    let taken = Locked<[String]>([])
    let threads = (0..<4).map { _ in
      Thread {
        while let leases = try? queue.leases(3), !leases.isEmpty {
          taken.withLock { $0 += leases.map(\.object) }
        }
      }
    }
    for thread in threads { thread.join() }
    // On PostgreSQL a runner may find all its candidates taken and stop early.
    let rest = try queue.leases(100).map(\.object)
    let all = taken.withLock { $0 } + rest
    #expect(all.count == 100 && Set(all).count == 100)
  }
}
