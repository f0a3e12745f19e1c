package import Base

/// A budget of costly requests for each address: a number at once, and the same again, spread evenly over a time.
///
/// Addresses are those that trusted proxies report, or the proxy's own if it reports no readable one. Without trusted
/// proxies this machine's own never have to wait: behind a proxy that is not configured, every request is from there.
package final class AddressBudget: Sendable {
  private let buckets: TokenBuckets<String>
  private let trustsProxies: Bool

  /// `count` is from 1 to a million. Beyond `addressCountMax` addresses within twice the time some are forgiven early.
  package init(
    _ count: Int64, within span: Instant.Span, addressCountMax: Int, trustsProxies: Bool,
    now: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now
  ) {
    self.trustsProxies = trustsProxies
    buckets = TokenBuckets(burst: count, within: span, keyCountMax: addressCountMax, now: now)
  }

  /// The budget for requests that are refused because they prove no identity: 100 at once, and ten more a second.
  package static func refusals(
    trustsProxies: Bool, now: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now
  ) -> AddressBudget {
    AddressBudget(
      100, within: .seconds(10), addressCountMax: 4096, trustsProxies: trustsProxies, now: now)
  }

  /// How long the address has to wait, at least one second; nil if it need not wait.
  package func secondsToWait(_ address: String) -> Int? {
    guard isCounted(address) else { return nil }
    let level = buckets.level(ClientNetwork.of(address))
    return level.count == 0 ? Int(max(1, level.secondsToNext)) : nil
  }

  /// Takes one from the budget; false if nothing is left.
  @discardableResult
  package func spend(_ address: String) -> Bool {
    !isCounted(address) || buckets.take(ClientNetwork.of(address)) != nil
  }

  private func isCounted(_ address: String) -> Bool {
    trustsProxies || !ClientNetwork.isLocal(address)
  }
}
