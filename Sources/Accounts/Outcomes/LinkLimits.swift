package import Base
import HTTPServer

/// What strangers may take of public links: requests of an address, bytes of an owner's links. For any thread.
package final class LinkLimits: Sendable {
  /// The requests that an address may make at once, and then each minute.
  private static let requestsPerMinute: Int64 = 300

  private let ofAddresses: AddressBudget
  private let ofOwners: TokenBuckets<Identifier>
  /// The bytes that one token stands for: buckets hold at most a million.
  private let unit: Int64
  private let burst: Int64

  /// `bytesPerDay` is at least 1.
  package init(
    bytesPerDay: Int64, trustsProxies: Bool, now: @escaping @Sendable () -> MonotonicTime
  ) {
    unit = (bytesPerDay - 1) / 1_000_000 + 1
    burst = max(1, bytesPerDay / unit)
    ofAddresses = AddressBudget(
      Self.requestsPerMinute, within: .minutes(1), addressCountMax: 100_000,
      trustsProxies: trustsProxies, now: now)
    ofOwners = TokenBuckets(burst: burst, within: .days(1), keyCountMax: 100_000, now: now)
  }

  /// Counts a request of an address. Returns how many seconds it has to wait; nil if it need not.
  package func secondsToWait(countingRequestOf address: String) -> Int? {
    ofAddresses.spend(address) ? nil : ofAddresses.secondsToWait(address) ?? 1
  }

  /// How many seconds the owner's links have to wait before they send again. Nil if they need not: then the bytes are
  /// counted in the same step, and what is missing is waited for later.
  package func secondsToWait(sending byteCount: Int64, of owner: Identifier) -> Int? {
    let count = min((byteCount + unit - 1) / unit, 2 * burst)
    guard ofOwners.take(owner, count) == nil else { return nil }
    return Int(max(1, ofOwners.level(owner).secondsToNext))
  }
}
