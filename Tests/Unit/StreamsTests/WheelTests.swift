import Base
import Streams
import Testing

@Suite struct WheelTests {
  private static let start = MonotonicTime.now()

  private static func time(_ milliseconds: Int64) -> MonotonicTime {
    start + .milliseconds(milliseconds)
  }

  @Test func `each has its turn once in the interval`() {
    var wheel = Wheel(.milliseconds(1000), now: Self.start)
    var counts: [Int32: Int] = [:]
    for step in 0..<500 {
      if step < 100 { wheel.add(Int32(step)) }
      for socket in wheel.take(at: Self.time(Int64(step) * 10)) { counts[socket, default: 0] += 1 }
    }
    #expect(counts.count == 100)
    #expect(counts.values.allSatisfy { 4...5 ~= $0 })
  }

  @Test func `those that begin together have their turns one after the other`() {
    var wheel = Wheel(.milliseconds(1000), now: Self.start)
    for socket in 0..<1000 { wheel.add(Int32(socket)) }
    let counts = (Int64(1)...100).map { wheel.take(at: Self.time($0 * 10)).count }
    let expected = [Int](repeating: 0, count: 50) + [Int](repeating: 20, count: 50)
    #expect(counts == expected)
  }

  @Test func `what is removed has no turn`() {
    var wheel = Wheel(.milliseconds(1000), now: Self.start)
    wheel.add(1)
    wheel.add(2)
    wheel.remove(1)
    #expect(wheel.take(at: Self.time(1000)) == [2])
  }

  @Test func `after a long pause each has one turn`() {
    var wheel = Wheel(.milliseconds(1000), now: Self.start)
    wheel.add(1)
    #expect(wheel.take(at: Self.time(100_000)) == [1])
    #expect(wheel.take(at: Self.time(100_005)).isEmpty)
    #expect(1...11 ~= wheel.milliseconds(at: Self.time(100_005)))
  }
}
