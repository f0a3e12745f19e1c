import Base
import Testing

@Suite struct LaterTests {
  @Test func `work runs in order, not before its pause is over`() {
    let later = Later(after: .milliseconds(20), capacity: 10)
    let done = Locked<[Int]>([])
    let start = MonotonicTime.now()
    for number in 0..<5 { #expect(later.submit { done.signal { $0.append(number) } }) }
    _ = done.wait { $0.count == 5 ? true : nil }
    #expect(done.withLock { $0 } == [0, 1, 2, 3, 4])
    #expect(MonotonicTime.now() >= start + .milliseconds(20))
  }

  @Test func `beyond its capacity work is refused`() {
    let later = Later(after: .seconds(3600), capacity: 2)
    #expect(later.submit {})
    #expect(later.submit {})
    #expect(!later.submit {})
  }

  @Test func `what waits at the end runs at once`() {
    let done = Locked(0)
    do {
      let later = Later(after: .seconds(3600), capacity: 2)
      #expect(later.submit { done.withLock { $0 += 1 } })
      #expect(later.submit { done.withLock { $0 += 1 } })
    }
    #expect(done.withLock { $0 } == 2)
  }
}
