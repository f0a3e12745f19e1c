import Base
import SeededRandom
import Testing

@Suite struct TokenBucketsTests {
  /// A monotonic clock that stands still until the test moves it.
  private final class Time: Sendable {
    private let moment = Locked(MonotonicTime.now())
    func advance(_ span: Instant.Span) { moment.withLock { $0 = $0 + span } }
    func now() -> MonotonicTime { moment.withLock { $0 } }
  }

  private let time = Time()

  private func buckets(
    burst: Int64, perSecond: Int64, keyCountMax: Int = 1000
  ) -> TokenBuckets<Int> {
    TokenBuckets(
      burst: burst, perSecond: perSecond, keyCountMax: keyCountMax, now: { [time] in time.now() })
  }

  @Test func `a fresh bucket gives its burst and then nothing`() {
    let buckets = buckets(burst: 3, perSecond: 2)
    #expect((0..<5).map { _ in buckets.take(1)?.count } == [2, 1, 0, nil, nil])
    #expect(buckets.take(2)?.count == 2)
  }

  @Test func `tokens come back one by one, up to the burst`() {
    let buckets = buckets(burst: 3, perSecond: 2)
    for _ in 0..<3 { _ = buckets.take(1) }
    time.advance(.milliseconds(499))
    #expect(buckets.take(1) == nil)
    time.advance(.milliseconds(1))
    #expect(buckets.take(1)?.count == 0)
    time.advance(.seconds(60))
    #expect(buckets.level(1).count == 3)
  }

  @Test func `the wait for the next token is told in whole seconds, rounded up`() {
    let buckets = buckets(burst: 10, perSecond: 1)
    #expect(buckets.level(1).secondsToNext == 0)
    _ = buckets.take(1)
    #expect(buckets.level(1).secondsToNext == 1)
    time.advance(.milliseconds(300))
    _ = buckets.take(1)
    #expect(buckets.level(1).secondsToNext == 1)
    time.advance(.milliseconds(700))
    #expect(buckets.level(1).count == 9)
    #expect(buckets.level(1).secondsToNext == 1)
  }

  @Test func `a bucket is as full as arithmetic says at any moment`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("buckets seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let buckets = buckets(burst: 20, perSecond: 4)
    // In quarters of a second, so that every sum is exact.
    var expected: [Int: Int64] = [:]
    for _ in 0..<2000 {
      let key = Int.random(in: 0..<5, using: &random)
      let steps = Int64.random(in: 0...2, using: &random)
      time.advance(.milliseconds(250 * steps))
      for key in expected.keys { expected[key]! = min(20, expected[key]! + steps) }
      let level = expected[key] ?? 20
      #expect(buckets.take(key)?.count == (level > 0 ? level - 1 : nil))
      expected[key] = max(0, level - 1)
    }
  }

  @Test func `what is charged beyond what is there is paid before the next token`() {
    let buckets = buckets(burst: 10, perSecond: 2)
    #expect(buckets.take(1)?.count == 9)
    let level = buckets.charge(1, 13)
    #expect(level.count == 0)
    #expect(level.secondsToNext == 3)
    #expect(buckets.take(1) == nil)
    time.advance(.milliseconds(2499))
    #expect(buckets.take(1) == nil)
    time.advance(.milliseconds(1))
    #expect(buckets.take(1)?.count == 0)
  }

  @Test func `nobody owes more than one burst, nor is forgotten before it is paid`() {
    let buckets = buckets(burst: 10, perSecond: 1)
    #expect(buckets.charge(-1, 1_000_000).secondsToNext == 11)
    for key in 0..<10 {
      time.advance(.seconds(1))
      _ = buckets.take(key)
    }
    #expect(buckets.take(-1) == nil)
    time.advance(.seconds(1))
    #expect(buckets.take(-1)?.count == 0)
  }

  @Test func `many threads together get the burst and no more`() {
    let buckets = buckets(burst: 1000, perSecond: 1)
    let taken = Locked(0)
    let threads = (0..<8).map { _ in
      Thread {
        for _ in 0..<500 where buckets.take(1) != nil { taken.withLock { $0 += 1 } }
      }
    }
    for thread in threads { thread.join() }
    #expect(taken.withLock { $0 } == 1000)
  }

  @Test func `a bucket that is not full outlives the coming and going of others`() {
    let buckets = buckets(burst: 10, perSecond: 1)
    // The first epoch ends after ten seconds.
    time.advance(.seconds(9))
    for _ in 0..<10 { _ = buckets.take(-1) }
    for key in 0..<3 {
      time.advance(.seconds(1))
      _ = buckets.take(key)
    }
    #expect(buckets.level(-1).count == 3)
  }

  @Test func `what was used in this epoch or the last one is remembered`() {
    var epochs = Epochs<Int, Int>(countMax: 10)
    for key in 0..<10 { epochs.set(key, key) }
    for key in 10..<19 {
      epochs.set(key, key)
      #expect(epochs.value(3) == 3)
    }
    #expect(epochs.value(4) == 4)
    #expect(epochs.value(5) == nil)
  }

  @Test func `no more than two epochs are remembered`() {
    var epochs = Epochs<Int, Int>(countMax: 10)
    for key in 0..<10_000 {
      epochs.set(key, key)
      #expect(epochs.count <= 20)
    }
  }

  @Test func `what is removed is gone from both epochs`() {
    var epochs = Epochs<Int, Int>(countMax: 2)
    epochs.set(1, 1)
    epochs.age()
    epochs.set(2, 2)
    epochs.remove(1)
    epochs.remove(2)
    #expect(epochs.count == 0)
  }
}
