import Base
import SeededRandom
import Storage
import Testing

@Suite struct WriteQueueTests {
  private let alice = Identifier(high: 1, low: 1)
  private let bob = Identifier(high: 2, low: 2)

  private func queue(
    capacity: Int = 1000, perAccount: Int = 1000, serially: Bool = false
  ) -> WriteQueue {
    WriteQueue(
      capacity: capacity, capacityPerAccount: perAccount, servesAccountsSerially: serially,
      gauge: Metrics().gauge("queued", "Test"))
  }

  private func request(
    _ account: Identifier?, wait: Instant.Span = .seconds(60)
  ) -> WriteRequest {
    WriteRequest(account: account, deadline: .now() + wait) { _ in
    } completion: { _ in
    }
  }

  @Test func `a flood delays another account by one turn`() throws {
    let queue = queue()
    for _ in 0..<200 { try queue.append(request(alice)) }
    try queue.append(request(bob))
    #expect(queue.next()?.account == alice)
    #expect(queue.next()?.account == bob)
  }

  @Test func `the queue's bound is answered with busy`() throws {
    let queue = queue(capacity: 3)
    for _ in 0..<3 { try queue.append(request(nil)) }
    #expect(throws: DatabaseError.busy(retryAfterSeconds: 1)) { try queue.append(request(bob)) }
    _ = queue.next()
    try queue.append(request(bob))
  }

  @Test func `one account fills its own share only`() throws {
    let queue = queue(capacity: 100, perAccount: 5)
    for _ in 0..<5 { try queue.append(request(alice)) }
    #expect(throws: DatabaseError.busy(retryAfterSeconds: 1)) { try queue.append(request(alice)) }
    try queue.append(request(bob))
    #expect(queue.count == 6)
  }

  @Test func `an account served serially has one write running`() throws {
    let queue = queue(serially: true)
    for account in [alice, alice, bob, nil, nil] { try queue.append(request(account)) }
    let first = try #require(queue.nextIfAny())
    #expect(first.account == alice)
    #expect(queue.nextIfAny()?.account == bob)
    #expect(queue.nextIfAny()?.account == .some(nil))
    #expect(queue.nextIfAny()?.account == .some(nil))
    #expect(queue.nextIfAny() == nil)
    queue.finished(first)
    #expect(queue.nextIfAny()?.account == alice)
  }

  @Test func `expired writes are taken out and the others keep their turns`() throws {
    let queue = queue()
    try queue.append(request(alice, wait: .seconds(0)))
    try queue.append(request(bob))
    try queue.append(request(alice))
    let expired = queue.takeExpired(at: .now())
    #expect(expired.map(\.account) == [alice])
    #expect(queue.count == 2)
    #expect(queue.nextIfAny()?.account == alice)
    #expect(queue.nextIfAny()?.account == bob)
    #expect(queue.nextIfAny() == nil)
  }

  @Test func `a stopped queue hands out what waits and then ends`() throws {
    let queue = queue()
    try queue.append(request(alice))
    queue.stop()
    #expect(throws: DatabaseError.unavailable(reason: "the database is closed")) {
      try queue.append(request(bob))
    }
    #expect(queue.next() != nil)
    #expect(queue.next() == nil)
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `every write is served once, in order within its account and fairly between them`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let queue = queue()
    let accounts = (0..<5).map { Identifier(high: 9, low: UInt64($0)) }
    var appended: [Identifier: Int] = [:]
    var served: [Identifier: Int] = [:]
    /// How often others were served since an account with waiting work was served last.
    var passedOver: [Identifier: Int] = [:]
    for _ in 0..<2000 {
      let account = accounts[Int.random(in: 0..<5, using: &random)]
      if Int.random(in: 0..<100, using: &random) < 55, queue.count < 900 {
        try queue.append(request(account))
        appended[account, default: 0] += 1
      } else if let next = queue.nextIfAny(), let account = next.account {
        served[account, default: 0] += 1
        passedOver[account] = 0
        for other in accounts where other != account {
          let isWaiting = appended[other, default: 0] > served[other, default: 0]
          passedOver[other] = isWaiting ? passedOver[other, default: 0] + 1 : 0
          #expect(passedOver[other, default: 0] < accounts.count, "seed \(seed)")
        }
      }
    }
    while let next = queue.nextIfAny() { served[next.account!, default: 0] += 1 }
    #expect(served == appended, "seed \(seed)")
  }
}
