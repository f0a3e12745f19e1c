import Base
import Testing

/// Pushes that arrive while Google's keys are being read: they wait, and nothing else waits with them.
struct ParallelPushTests {
  @Test func `pushes that come before the first keys are all taken once those are read`() throws {
    let shop = try PlayShop()
    let gate = KeyGate()
    shop.play.whileKeysAreRead { gate.pass() }
    let answers = Locked<[Int]>([])
    for number in 0..<40 {
      let admission = try shop.admitPush()
      let body = shop.body("token\(number)", 2)
      // As a server does, on any thread.
      admission.then(body) { status in answers.signal { $0.append(status) } }
    }
    #expect(answers.withLock { $0.isEmpty })
    gate.open()
    _ = answers.wait(until: .now() + .seconds(20)) { $0.count == 40 ? true : nil }
    #expect(answers.withLock { $0 } == Array(repeating: 200, count: 40))
    #expect(shop.play.keyReadCount == 1)
  }

  @Test func `a first read of the keys that fails is tried again before a push is sent away`()
    throws
  {
    let shop = try PlayShop()
    shop.play.failKeys(2)
    #expect(try shop.push("token", 2) == 200)
    #expect(shop.play.keyReadCount == 3)
  }
}

/// Holds the reader of the keys until the test releases it.
private final class KeyGate: Sendable {
  private let isOpen = Locked(false)

  func pass() { _ = isOpen.wait(until: .now() + .seconds(2)) { $0 ? true : nil } }
  func open() { isOpen.signal { $0 = true } }
}
