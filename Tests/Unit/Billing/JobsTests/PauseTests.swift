import Base
import Jobs
import Storage
import TestEngines
import Testing

/// No job runs again at once because of its own requests, and a waiting job says since when it waits.
@Suite struct PauseTests {
  @Test(arguments: TestEngine.available)
  func `what a run asks to have done later is not done before`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request()
    let lease = try queue.lease()
    try queue.request(due: queue.now + .hours(24))
    try queue.commit(lease)
    #expect(try queue.job().due == queue.now + .hours(24))
    queue.pass(.milliseconds(Instant.Span.hours(24).milliseconds - 1))
    #expect(try queue.leases().isEmpty)
    queue.pass(.milliseconds(1))
    #expect(try queue.leases().count == 1)
  }

  @Test(arguments: TestEngine.available)
  func `a job that asks for itself at each run runs at most twice a second`(
    _ engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    try queue.request(due: queue.now - .hours(1))
    var runs = 0
    // Ten seconds in steps of 50 ms.
    for _ in 0..<200 {
      for lease in try queue.leases() {
        runs += 1
        try queue.request(due: queue.now - .hours(1))
        try queue.commit(lease)
      }
      queue.pass(.milliseconds(50))
    }
    #expect((2...21).contains(runs))
  }

  @Test(arguments: TestEngine.available)
  func `a job that fails at each run runs at most twice a second, whatever asks for it`(
    _ engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    try queue.request()
    var runs = 0
    for _ in 0..<200 {
      for lease in try queue.leases() {
        runs += 1
        try queue.request()
        try queue.retry(lease, .transient("down", retryAfter: nil))
      }
      queue.pass(.milliseconds(50))
    }
    #expect((2...21).contains(runs))
  }

  @Test(arguments: TestEngine.available)
  func `a request during the last refused read keeps the job alive`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request()
    for _ in 1..<JobRules.refusalCountMax {
      try queue.retry(try queue.lease(), .refused("no"))
      queue.pass(.minutes(15))
    }
    let last = try queue.lease()
    try queue.request()
    #expect(try !queue.retry(last, .refused("no")))
    queue.pass(.minutes(15))
    #expect(try queue.leases().count == 1)
  }

  @Test(arguments: TestEngine.available)
  func `failures put off the next run, not since when it is wanted`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    let (wanted, failed) = (queue.now, queue.now + .seconds(3))
    try queue.request()
    queue.pass(.seconds(3))
    for _ in 0..<100 {
      try queue.retry(try queue.lease(), .transient("down", retryAfter: nil))
      queue.pass(.minutes(15))
    }
    let job = try queue.job()
    #expect(job.unsettledSince == wanted)
    #expect(job.failingSince == failed)
    let counts = try queue.database.read { try Jobs.counts($0) }
    #expect(counts.map(\.unsettledSince) == [wanted])
    try queue.commit(try queue.lease())
    #expect(try queue.job().unsettledSince == nil)
    #expect(try queue.job().failingSince == nil)
  }

  @Test(arguments: TestEngine.available)
  func `neither death nor an operator's retry is an answer`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    let wanted = queue.now
    try queue.request()
    for _ in 0..<JobRules.refusalCountMax {
      try queue.retry(try queue.lease(), .refused("no"))
      queue.pass(.minutes(15))
    }
    #expect(try queue.job().unsettledSince == wanted)
    try queue.revive()
    #expect(try queue.job().unsettledSince == wanted)
    #expect(try queue.job().failingSince == wanted)
  }

  @Test(arguments: TestEngine.available)
  func `what was asked for during a read is unsettled since it was asked for`(
    _ engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    try queue.request(due: queue.now - .hours(1))
    let lease = try queue.lease()
    queue.pass(.seconds(5))
    try queue.request()
    let asked = queue.now
    queue.pass(.seconds(5))
    try queue.commit(lease)
    #expect(try queue.job().unsettledSince == asked)
    #expect(try queue.job().due == queue.now + JobRules.pauseMin)
  }

  @Test(arguments: TestEngine.available)
  func `a confirming read is wanted from its own time on`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request(confirmations: 1)
    try queue.commit(try queue.lease())
    #expect(try queue.job().unsettledSince == queue.now + JobRules.confirmationDelay)
  }

  @Test(arguments: TestEngine.available)
  func `a late commit that confirms leaves its successor's read alone`(
    _ engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    let (first, second) = try queue.overtaken(confirmations: 1)
    try queue.commit(first)
    #expect(try queue.leases().isEmpty)
    try queue.commit(second)
    queue.pass(JobRules.confirmationDelay)
    #expect(try queue.commit(try queue.lease()))
  }

  @Test(arguments: TestEngine.available)
  func `a successor's failure does not hurry the read that confirms`(
    _ engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    let (first, second) = try queue.overtaken(confirmations: 1)
    try queue.commit(first)
    let confirmed = queue.now + JobRules.confirmationDelay
    try queue.retry(second, .transient("down", retryAfter: nil))
    #expect(try queue.job().due == confirmed)
  }
}
