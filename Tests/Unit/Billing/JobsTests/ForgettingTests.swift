import Base
import Jobs
import Storage
import TestEngines
import Testing

/// A job that clients alone asked for goes when there is nothing to read; no other does.
@Suite struct ForgettingTests {
  private func need(_ queue: Queue, turn: Int) throws {
    let now = queue.now
    try queue.database.write(for: nil) { transaction in
      try Jobs.need("k", "a", due: now, turn: turn, in: transaction)
    }
  }

  private func forget(_ lease: Lease, _ queue: Queue) throws -> Bool {
    try queue.database.write(for: nil) { try lease.forget(in: $0) }
  }

  @Test(arguments: TestEngine.available)
  func `what a client made up goes with its row`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try need(queue, turn: 3)
    let lease = try queue.lease()
    #expect(lease.turn == 3)
    #expect(try forget(lease, queue))
    #expect(try queue.database.read { try Jobs.find("k", "a", reading: $0) } == nil)
  }

  @Test(arguments: TestEngine.available)
  func `what was told before, or during the read, stays`(_ engine: TestEngine) throws {
    let told = try Queue(engine)
    try need(told, turn: 0)
    try need(told, turn: 2)
    #expect(try !forget(try told.lease(), told))
    let during = try Queue(engine)
    try need(during, turn: 2)
    let lease = try during.lease()
    try need(during, turn: 0)
    #expect(try !forget(lease, during))
  }

  @Test(arguments: TestEngine.available)
  func `what was ever read stays`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try need(queue, turn: 1)
    try queue.commit(try queue.lease())
    try need(queue, turn: 1)
    #expect(try !forget(try queue.lease(), queue))
  }

  @Test(arguments: TestEngine.available)
  func `a reader that comes back after its object was forgotten writes nothing`(
    _ engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    try need(queue, turn: 1)
    let lost = try queue.lease()
    queue.pass(JobRules.leaseTime)
    #expect(try forget(try queue.lease(), queue))
    let now = queue.now
    let result = JobResult(readBegan: nil) { transaction in
      try Jobs.need("fact", "a", due: now, in: transaction)
    }
    let isSettled = try queue.database.write(for: nil) { transaction in
      try result.commit(lost, now: now, in: transaction).isSettled
    }
    #expect(isSettled)
    #expect(try queue.database.read { try Jobs.find("fact", "a", reading: $0) } == nil)
  }

  @Test(arguments: TestEngine.available)
  func `lower turns come first, whoever waits longer`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    let now = queue.now
    try queue.database.write(for: nil) { transaction in
      for (object, turn) in [("c", 5), ("b", 2), ("a", 1)] {
        try Jobs.need("k", object, due: now - .seconds(Int64(turn)), turn: turn, in: transaction)
      }
    }
    for object in ["a", "b", "c"] { #expect(try queue.leases(1).map(\.object) == [object]) }
  }
}
