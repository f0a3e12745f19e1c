/// Token buckets, one for each key: a burst of tokens at once, then a fixed number each second.
///
/// A bucket is a single moment, the one at which it will be full again (the virtual scheduling of ITU-T I.371). A key
/// that is not remembered has a full one. A charge beyond the available tokens is a debt, of one full bucket at most.
/// Each epoch lasts as long as paying the deepest debt and filling the bucket take, so any bucket that is forgotten was
/// full. Only if more than `keyCountMax` keys come in that time are some given a full bucket too early.
///
/// Safe to use from any thread. A call takes the same time for any number of keys.
package final class TokenBuckets<Key: Hashable & Sendable>: Sendable {
  /// The contents of a bucket.
  package struct Level: Sendable, Equatable {
    package let count: Int64
    /// The seconds until it holds one more token, rounded up; 0 if it is full.
    package let secondsToNext: Int64
  }

  private struct State {
    /// In nanoseconds of the monotonic clock.
    var fullAt: Epochs<Key, UInt64>
    var since: UInt64
  }

  private let burst: UInt64
  /// The nanoseconds that one token takes to come.
  private let interval: UInt64
  private let now: @Sendable () -> MonotonicTime
  private let state: Locked<State>

  /// `burst` is at least 1, `perSecond` is from 1 to a thousand million.
  package convenience init(
    burst: Int64, perSecond: Int64, keyCountMax: Int,
    now: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now
  ) {
    self.init(burst: UInt64(burst), interval: 1_000_000_000 / UInt64(perSecond), keyCountMax, now)
  }

  /// An emptied bucket is full again after `span`; `burst` is from 1 to a million.
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
    state = Locked(State(fullAt: Epochs(countMax: keyCountMax), since: now().nanoseconds))
  }

  /// Takes `count` tokens, even if there are fewer, and returns the level that remains; nil if there is none.
  package func take(_ key: Key, _ count: Int64 = 1) -> Level? {
    change(key) { fullAt, now in
      guard fullAt - now <= (burst - 1) * interval else { return nil }
      return take(count, &fullAt, now)
    }
  }

  /// The same, even if there is no token.
  package func charge(_ key: Key, _ count: Int64) -> Level {
    change(key) { fullAt, now in take(count, &fullAt, now) }
  }

  private func take(_ count: Int64, _ fullAt: inout UInt64, _ now: UInt64) -> Level {
    fullAt = min(fullAt + UInt64(count) * interval, now + 2 * burst * interval)
    return level(fullAt, now)
  }

  package func level(_ key: Key) -> Level { change(key) { level($0, $1) } }

  private func change<Result>(
    _ key: Key, _ body: (_ fullAt: inout UInt64, _ now: UInt64) -> Result
  ) -> Result {
    state.withLock { state in
      // Read under the lock, so that no thread uses an earlier time than the thread before it.
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
