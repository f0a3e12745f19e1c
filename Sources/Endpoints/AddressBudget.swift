package import Base
internal import HTTPServer

/// How much of what one address asks may be refused as nobody's before it has to wait.
///
/// Addresses are those that trusted proxies tell; this machine's own are never made to wait, because
/// behind a proxy that is not configured every request comes from there.
package final class AddressBudget: Sendable {
  /// Of addresses beyond so many within the time a budget takes to recover, some are forgiven early.
  private static let addressCountMax = 4096
  private static let burst: Int64 = 100
  private static let perSecond: Int64 = 10

  private let buckets: TokenBuckets<String>

  package init(now: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now) {
    buckets = TokenBuckets(
      burst: Self.burst, perSecond: Self.perSecond, keyCountMax: Self.addressCountMax, now: now)
  }

  /// How long the address has to wait, at least a second; nil where it need not.
  package func secondsToWait(_ address: String) -> Int? {
    let level = buckets.level(ClientNetwork.of(address))
    return level.count == 0 ? Int(max(1, level.secondsToNext)) : nil
  }

  package func spend(_ address: String) {
    guard !ClientNetwork.isLocal(address) else { return }
    _ = buckets.take(ClientNetwork.of(address))
  }
}
