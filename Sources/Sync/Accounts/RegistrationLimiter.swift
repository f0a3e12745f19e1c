internal import Base
internal import HTTPServer

/// How many accounts one address may ask to be opened, of this instance: so many at once, and as
/// many come back evenly within a day.
///
/// Accounts are free, so what limits one account limits nobody who opens a thousand. Addresses are
/// those that trusted proxies tell. Without any, this machine's own are not counted, because behind a
/// proxy that is not configured everybody comes from there.
final class RegistrationLimiter: Sendable {
  /// Of networks beyond so many within two days, some are forgiven early.
  private static let networkCountMax = 100_000

  private let buckets: TokenBuckets<String>
  private let trustsProxies: Bool

  init(
    _ limits: SyncLimits, trustsProxies: Bool, now: @escaping @Sendable () -> MonotonicTime
  ) {
    self.trustsProxies = trustsProxies
    buckets = TokenBuckets(
      burst: limits.accountsPerAddress, within: .days(1), keyCountMax: Self.networkCountMax,
      now: now)
  }

  /// Refuses an address that has none left; asked before anything is computed for it.
  func check(_ address: String) throws(Refusal) {
    guard isCounted(address) else { return }
    let level = buckets.level(ClientNetwork.of(address))
    guard level.count == 0 else { return }
    throw .registrationLimited(retryAfterSeconds: Int(max(1, level.secondsToNext)))
  }

  /// Takes one, of an address whose request is signed: whoever signs nothing takes nothing from its
  /// neighbours.
  func count(_ address: String) throws(Refusal) {
    guard isCounted(address), buckets.take(ClientNetwork.of(address)) == nil else { return }
    try check(address)
  }

  private func isCounted(_ address: String) -> Bool {
    trustsProxies || !ClientNetwork.isLocal(address)
  }
}
