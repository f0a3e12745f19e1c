package import Base

/// How much of what is dear or unwanted one address may ask for before it has to wait: so much at
/// once, and as much comes back evenly within a time.
///
/// Addresses are those that trusted proxies tell, the proxy's own where it tells none that can be
/// read. Without trusted proxies this machine's own are never made to wait, because behind a proxy
/// that is not configured every request comes from there.
package final class AddressBudget: Sendable {
  private let buckets: TokenBuckets<String>
  private let trustsProxies: Bool

  /// `count` is from 1 to a million. Of addresses beyond `addressCountMax` within twice the time, some
  /// are forgiven early.
  package init(
    _ count: Int64, within span: Instant.Span, addressCountMax: Int, trustsProxies: Bool,
    now: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now
  ) {
    self.trustsProxies = trustsProxies
    buckets = TokenBuckets(
      burst: count, within: span, keyCountMax: addressCountMax, now: now)
  }

  /// For what is refused because it proves nobody: a hundred at once, and ten more a second.
  package static func refusals(
    trustsProxies: Bool, now: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now
  ) -> AddressBudget {
    AddressBudget(
      100, within: .seconds(10), addressCountMax: 4096, trustsProxies: trustsProxies, now: now)
  }

  /// How long the address has to wait, at least a second; nil where it need not.
  package func secondsToWait(_ address: String) -> Int? {
    guard isCounted(address) else { return nil }
    let level = buckets.level(ClientNetwork.of(address))
    return level.count == 0 ? Int(max(1, level.secondsToNext)) : nil
  }

  /// Takes from what is left; false where nothing is.
  @discardableResult
  package func spend(_ address: String) -> Bool {
    !isCounted(address) || buckets.take(ClientNetwork.of(address)) != nil
  }

  private func isCounted(_ address: String) -> Bool {
    trustsProxies || !ClientNetwork.isLocal(address)
  }
}
