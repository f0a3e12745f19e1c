import Base
import Jobs
import Storage
import TestEngines
import Testing

@Suite struct FailureTests {
  private static let down = JobFailure.transient("down", retryAfter: nil)

  @Test(arguments: TestEngine.available)
  func `each failure doubles the longest wait, up to a quarter of an hour`(
    _ engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    try queue.request()
    var longest = Instant.Span.seconds(1)
    var waits: [Instant.Span] = []
    for attempt in 1...40 {
      try queue.retry(try queue.lease(), Self.down)
      let job = try queue.job()
      let wait = try #require(job.due) - queue.now
      #expect(job.attempts == attempt)
      #expect(JobRules.pauseMin <= wait && wait <= longest, "attempt \(attempt)")
      waits.append(wait)
      longest = min(.milliseconds(longest.milliseconds * 2), .minutes(15))
      queue.pass(wait)
    }
    // Full jitter: thirty waits of up to 15 minutes are neither all short nor all alike.
    #expect(waits.suffix(30).max() ?? .seconds(0) > .minutes(5))
    #expect(Set(waits.suffix(30)).count > 20)
  }

  @Test(arguments: TestEngine.available)
  func `no number of transient failures loses the request`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request()
    for _ in 0..<100 {
      #expect(try !queue.retry(try queue.lease(), Self.down))
      queue.pass(.minutes(15))
    }
    #expect(try queue.commit(try queue.lease()))
    #expect(try queue.job().attempts == 0)
  }

  @Test(arguments: TestEngine.available)
  func `a read that comes too late is not told of the death of which its successor told`(
    _ engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    try queue.request()
    for _ in 1..<JobRules.refusalCountMax {
      #expect(try !queue.retry(try queue.lease(), .refused("no")))
      queue.pass(.minutes(15))
    }
    let late = try queue.lease()
    queue.pass(JobRules.leaseTime)
    #expect(try queue.retry(try queue.lease(), .refused("no")))
    #expect(try !queue.retry(late, .refused("no")))
  }

  @Test(arguments: TestEngine.available)
  func `what the provider asks for is waited`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request()
    try queue.retry(try queue.lease(), .transient("429", retryAfter: .minutes(20)))
    try queue.request()
    queue.pass(.milliseconds(1_199_999))
    #expect(try queue.leases().isEmpty)
    queue.pass(.milliseconds(1))
    #expect(try queue.leases().count == 1)
  }

  @Test(arguments: TestEngine.available)
  func `no provider is waited for longer than an hour`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request()
    try queue.retry(try queue.lease(), .transient("429", retryAfter: .days(9)))
    #expect(try queue.job().due == queue.now + .hours(1))
  }

  @Test(arguments: TestEngine.available)
  func `a request ends a wait that is only ours`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request()
    for _ in 0..<12 {
      try queue.retry(try queue.lease(), Self.down)
      try queue.request()
    }
    #expect(try queue.leases().count == 1)
  }

  @Test(arguments: TestEngine.available)
  func `twenty refusals are death, and death is kept`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request()
    for number in 1...20 {
      #expect(try queue.retry(try queue.lease(), .refused("no such app")) == (number == 20))
      queue.pass(.minutes(15))
    }
    queue.pass(.days(9))
    #expect(try queue.leases().isEmpty)
    let job = try queue.job()
    #expect(job.state == .dead)
    #expect(job.lastError == "no such app")
  }

  @Test(arguments: TestEngine.available)
  func `an outage before a refusal does not count against the object`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request()
    for _ in 0..<30 {
      try queue.retry(try queue.lease(), Self.down)
      queue.pass(.minutes(15))
    }
    #expect(try !queue.retry(try queue.lease(), .refused("no")))
  }

  @Test(arguments: TestEngine.available)
  func `a request revives the dead`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try Self.kill(queue)
    try queue.request()
    #expect(try !queue.retry(try queue.lease(), .refused("no")))
  }

  @Test(arguments: TestEngine.available)
  func `the operator revives the dead`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try Self.kill(queue)
    #expect(try queue.revive())
    #expect(try queue.commit(try queue.lease()))
  }

  @Test(arguments: TestEngine.available)
  func `the operator has what waits or is settled read now`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request(due: queue.now + .days(1))
    #expect(try queue.revive())
    #expect(try queue.commit(try queue.lease()))
    #expect(try queue.revive())
    #expect(try queue.commit(try queue.lease()))
    #expect(try !queue.revive("b"))
  }

  @Test(arguments: TestEngine.available)
  func `a failure's text is stored within bounds`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request()
    try queue.retry(
      try queue.lease(), .refused("a\0b" + String(repeating: "é", count: 1_000)))
    let error = try #require(try queue.job().lastError)
    #expect(error.hasPrefix("abé"))
    #expect(error.utf8.count <= 304)
  }

  @Test(arguments: TestEngine.available)
  func `the list shows the dead first, then what is open`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try Self.kill(queue)
    try queue.request("b", due: queue.now + .seconds(9))
    try queue.request("c", kind: "other")
    try queue.request("d", kind: "other")
    for lease in try queue.leases(1, kind: "other") { try queue.commit(lease) }
    let all = try queue.database.read { try Jobs.list($0, limit: 10) }
    #expect(all.map(\.object) == ["a", "d", "b"])
    let dead = try queue.database.read { try Jobs.list($0, limit: 10, onlyDead: true) }
    #expect(dead.map(\.object) == ["a"])
    #expect(try queue.database.read { try Jobs.list($0, limit: 2) }.map(\.object) == ["a", "d"])
    let rests = try queue.database.read { reader in
      try all.map { try Jobs.list(reader, limit: 10, after: $0).map(\.object) }
    }
    #expect(rests == [["d", "b"], ["b"], []])
    #expect(
      try queue.database.read { try Jobs.counts($0) } == [
        JobCounts(
          kind: "k", open: 1, dead: 1, unsettledSince: queue.now + .seconds(9),
          earliestDue: queue.now + .seconds(9)),
        JobCounts(
          kind: "other", open: 1, dead: 0, unsettledSince: queue.now, earliestDue: queue.now),
      ])
  }

  private static func kill(_ queue: Queue) throws {
    try queue.request()
    for _ in 1...20 {
      try queue.retry(try queue.lease(), .refused("no"))
      queue.pass(.minutes(15))
    }
  }
}
