/// Token buckets, one for each key: so many tokens at once, and so many a second from then on.
///
/// A bucket is a single moment, the one at which it will be full again (the virtual scheduling of
/// ITU-T I.371); a key that is not remembered has a full one. What is charged beyond what is there is
/// a debt, of one full bucket at most. Each epoch lasts as long as the deepest debt takes to be
/// paid and the bucket to fill, so what is forgotten was full. Only where more than `keyCountMax` keys
/// come in that time are some given a full bucket too early.
///
/// For any thread; a call takes the same time however many keys there are.
package final class TokenBuckets<Key: Hashable & Sendable>: Sendable {
  /// What a bucket holds.
  package struct Level: Sendable, Equatable {
    package let count: Int64
    /// Until it holds one more, rounded up; 0 where it is full.
    package let secondsToNext: Int64
  }

  private struct State {
    /// In nanoseconds of the monotonic clock.
    var fullAt: Epochs<Key, UInt64>
    var since: UInt64
  }

  private let burst: UInt64
  /// Nanoseconds a token takes to come.
  private let interval: UInt64
  private let now: @Sendable () -> MonotonicTime
  private let state: Locked<State>

  /// `burst` is at least 1, `perSecond` from 1 to a thousand million.
  package convenience init(
    burst: Int64, perSecond: Int64, keyCountMax: Int,
    now: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now
  ) {
    self.init(
      burst: UInt64(burst), interval: 1_000_000_000 / UInt64(perSecond), keyCountMax, now)
  }

  /// A bucket that was emptied is full again after `span`; `burst` is from 1 to a million.
  package convenience init(
    burst: Int64, within span: Instant.Span, keyCountMax: Int,
    now: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now
  ) {
    self.init(
      burst: UInt64(burst), interval: UInt64(span.milliseconds) * 1_000_000 / UInt64(burst),
      keyCountMax, now)
  }

  private init(
    burst: UInt64, interval: UInt64, _ keyCountMax: Int,
    _ now: @escaping @Sendable () -> MonotonicTime
  ) {
    self.burst = burst
    self.interval = interval
    self.now = now
    state = Locked(
      State(fullAt: Epochs(countMax: keyCountMax), since: now().nanoseconds))
  }

  /// Takes a token and tells what is left; nil where there is none.
  package func take(_ key: Key) -> Level? {
    change(key) { fullAt, now in
      guard fullAt - now <= (burst - 1) * interval else { return nil }
      fullAt += interval
      return level(fullAt, now)
    }
  }

  /// Takes so many tokens, there or not, and tells what is left.
  package func charge(_ key: Key, _ count: Int64) -> Level {
    change(key) { fullAt, now in
      fullAt = min(fullAt + UInt64(count) * interval, now + 2 * burst * interval)
      return level(fullAt, now)
    }
  }

  package func level(_ key: Key) -> Level { change(key) { level($0, $1) } }

  private func change<Result>(
    _ key: Key, _ body: (_ fullAt: inout UInt64, _ now: UInt64) -> Result
  ) -> Result {
    state.withLock { state in
      // Under the lock, so that no thread brings an earlier time than the one before.
      let now = now().nanoseconds
      if now - state.since >= 2 * burst * interval {
        state.fullAt.age()
        state.since = now
      }
      var fullAt = max(state.fullAt.value(key) ?? 0, now)
      let result = body(&fullAt, now)
      if fullAt > now { state.fullAt.set(key, fullAt) }
      return result
    }
  }

  private func level(_ fullAt: UInt64, _ now: UInt64) -> Level {
    let missing = fullAt - now
    guard missing > 0 else { return Level(count: Int64(burst), secondsToNext: 0) }
    let taken = (missing - 1) / interval + 1
    // A debt is paid before there is a token to take.
    let toNext =
      taken > burst ? missing - (burst - 1) * interval : missing - (taken - 1) * interval
    return Level(
      count: Int64(burst - min(taken, burst)),
      secondsToNext: Int64((toNext + 999_999_999) / 1_000_000_000))
  }
}
