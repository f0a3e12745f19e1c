import Base
import Jobs
import Storage
import TestEngines
import Testing

/// A job that only clients requested is removed when there is nothing to read; no other job is.
@Suite struct ForgettingTests {
  private func request(_ queue: Queue, lane: Int) throws {
    let now = queue.now
    try queue.database.write(for: nil) { transaction in
      try Jobs.request("k", "a", due: now, lane: lane, in: transaction)
    }
  }

  private func forget(_ lease: Lease, _ queue: Queue) throws -> Bool {
    try queue.database.write(for: nil) { try lease.forget(in: $0) }
  }

  @Test(arguments: TestEngine.available)
  func `what a client made up goes with its row`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try request(queue, lane: 3)
    let lease = try queue.lease()
    #expect(lease.lane == 3)
    #expect(try forget(lease, queue))
    #expect(try queue.database.read { try Jobs.find("k", "a", reading: $0) } == nil)
  }

  @Test(arguments: TestEngine.available)
  func `what was told before, or during the read, stays`(_ engine: TestEngine) throws {
    let told = try Queue(engine)
    try request(told, lane: 0)
    try request(told, lane: 2)
    #expect(try !forget(try told.lease(), told))
    let during = try Queue(engine)
    try request(during, lane: 2)
    let lease = try during.lease()
    try request(during, lane: 0)
    #expect(try !forget(lease, during))
  }

  @Test(arguments: TestEngine.available)
  func `what was ever read stays`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try request(queue, lane: 1)
    try queue.commit(try queue.lease())
    try request(queue, lane: 1)
    #expect(try !forget(try queue.lease(), queue))
  }

  @Test(arguments: TestEngine.available)
  func `a reader that comes back after its object was forgotten writes nothing`(
    _ engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    try request(queue, lane: 1)
    let lost = try queue.lease()
    queue.pass(JobRules.leaseTime)
    #expect(try forget(try queue.lease(), queue))
    let now = queue.now
    let result = JobResult(readBegan: nil) { transaction in
      try Jobs.request("fact", "a", due: now, in: transaction)
    }
    let isSettled = try queue.database.write(for: nil) { transaction in
      try result.commit(lost, now: now, in: transaction).isSettled
    }
    #expect(isSettled)
    #expect(try queue.database.read { try Jobs.find("fact", "a", reading: $0) } == nil)
  }

  @Test(arguments: TestEngine.available)
  func `lower lanes come first, whoever waits longer`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    let now = queue.now
    try queue.database.write(for: nil) { transaction in
      for (object, lane) in [("c", 5), ("b", 2), ("a", 1)] {
        try Jobs.request("k", object, due: now - .seconds(Int64(lane)), lane: lane, in: transaction)
      }
    }
    for object in ["a", "b", "c"] { #expect(try queue.leases(1).map(\.object) == [object]) }
  }
}
