internal import Base
internal import HTTPMessages

/// How many forged deliveries and claims one address may send before it has to wait.
///
/// A forged signature costs public-key arithmetic, and the certificates that make it plausible are
/// public. Addresses are those that trusted proxies tell, the proxy's own where it tells none that
/// can be read. Without trusted proxies this machine's own are never made to wait, because behind a
/// proxy that is not configured every delivery comes from there.
final class ForgeryBudget: Sendable {
  /// Of addresses beyond so many within the time a budget takes to recover, some are forgiven early.
  private let buckets = TokenBuckets<String>(burst: 100, perSecond: 10, keyCountMax: 4096)
  private let trustsProxies: Bool

  init(trustsProxies: Bool) { self.trustsProxies = trustsProxies }

  /// Throws 429 for an address that has spent its budget.
  func check(_ address: String) throws {
    guard buckets.level(Self.group(address)).count == 0 else { return }
    throw Problem(
      429, "too_many_forgeries", "Too many refused deliveries",
      "So many deliveries of this address proved no sender that the next must wait.",
      retryAfterSeconds: 10)
  }

  func spend(_ address: String) {
    guard trustsProxies || !Self.isLocal(address) else { return }
    _ = buckets.take(Self.group(address))
  }

  private static func isLocal(_ address: String) -> Bool {
    address == "::1" || address.hasPrefix("127.") || address.hasPrefix("::ffff:127.")
  }

  /// An IPv6 network of 64 bits is one customer's (RFC 6177), so it counts as one.
  private static func group(_ address: String) -> String {
    guard address.contains(":"), !address.contains(".") else { return address }
    let head = address.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)[0]
    return head.split(separator: ":").prefix(4).joined(separator: ":")
  }
}
