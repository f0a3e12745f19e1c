import Base
import Jobs
import Storage
import TestEngines
import Testing

@Suite struct SettlingTests {
  @Test(arguments: TestEngine.available)
  func `a read that began before the event's end does not settle it`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    let end = queue.now + .seconds(1)
    try queue.request(settleAfter: end)
    #expect(try !queue.commit(try queue.lease(), readBegan: end - .seconds(3)))
    queue.pass(.milliseconds(2_999))
    #expect(try queue.leases().isEmpty)
    queue.pass(.milliseconds(1))
    #expect(try queue.commit(try queue.lease(), readBegan: end))
  }

  @Test(arguments: TestEngine.available)
  func `a read that cannot say when it began does not settle an event`(
    _ engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    try queue.request(settleAfter: queue.now)
    #expect(try !queue.commit(try queue.lease()))
    queue.pass(JobRules.confirmationDelay)
    #expect(try queue.leases().count == 1)
  }

  @Test(arguments: TestEngine.available)
  func `of several events the last must be over`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    let end = queue.now
    try queue.request(settleAfter: end + .seconds(9))
    try queue.request(settleAfter: end)
    try queue.request()
    let lease = try queue.lease()
    #expect(try !queue.commit(lease, readBegan: end + .seconds(8)))
    queue.pass(.seconds(1))
    #expect(try queue.commit(try queue.lease(), readBegan: end + .seconds(9)))
  }

  @Test(arguments: TestEngine.available)
  func `an event settled once asks nothing of later reads`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request(settleAfter: queue.now)
    try queue.commit(try queue.lease(), readBegan: queue.now)
    try queue.request()
    #expect(try queue.commit(try queue.lease()))
  }

  @Test(arguments: TestEngine.available)
  func `one confirming read follows a minute later`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request(confirmations: 1)
    #expect(try !queue.commit(try queue.lease()))
    queue.pass(.seconds(59))
    #expect(try queue.leases().isEmpty)
    queue.pass(.seconds(1))
    let confirming = try queue.lease()
    #expect(confirming.readNumber == 2)
    #expect(try queue.commit(confirming))
  }

  @Test(arguments: TestEngine.available)
  func `a request during a read does not use up the confirming one`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    try queue.request(confirmations: 1)
    let first = try queue.lease()
    try queue.request(confirmations: 1)
    try queue.commit(first)
    queue.pass(JobRules.pauseMin)
    try queue.commit(try queue.lease())
    queue.pass(.minutes(1))
    let confirming = try queue.lease()
    #expect(confirming.readNumber == 3)
    #expect(try queue.commit(confirming))
  }

  @Test(arguments: TestEngine.available)
  func `a request in the minute before the confirming read is read at once`(
    _ engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    try queue.request(confirmations: 1)
    try queue.commit(try queue.lease())
    queue.pass(.seconds(30))
    try queue.request(confirmations: 1)
    #expect(try !queue.commit(try queue.lease()))
    queue.pass(.seconds(60))
    #expect(try queue.commit(try queue.lease()))
  }

  @Test(arguments: TestEngine.available, [false, true])
  func `numbers of reads that another Coffer gave out are not given out again`(
    _ engine: TestEngine, _ isWanted: Bool
  ) throws {
    let queue = try Queue(engine)
    if isWanted { try queue.request() }
    try queue.database.write(for: nil) { try Jobs.pass("k", "a", through: 7, in: $0) }
    #expect(try queue.leases().map(\.readNumber) == (isWanted ? [8] : []))
    if !isWanted {
      try queue.request()
      #expect(try queue.commit(try queue.lease()))
      #expect(try queue.job().committed == 8)
    }
  }
}
