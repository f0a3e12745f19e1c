package import Base
import HTTPServer

/// Counts log-ins that failed: at most five for each app password and twenty for each address in a quarter of an hour.
package final class FailedLogins: Sendable {
  private static let span = Instant.Span.minutes(15)
  private static let countMax = 10_000

  private let ofPasswords: TokenBuckets<String>
  private let ofAddresses: AddressBudget

  package init(
    trustsProxies: Bool, now: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now
  ) {
    ofPasswords = TokenBuckets(
      burst: 5, within: Self.span, keyCountMax: Self.countMax, now: now)
    ofAddresses = AddressBudget(
      20, within: Self.span, addressCountMax: Self.countMax, trustsProxies: trustsProxies, now: now)
  }

  /// Whether another log-in must wait. `password` is the id; nil if the text has no such form.
  package func areTooMany(of password: String?, from address: String) -> Bool {
    ofAddresses.secondsToWait(address) != nil
      || password.map { ofPasswords.level($0).count == 0 } == true
  }

  package func note(_ password: String?, from address: String) {
    ofAddresses.spend(address)
    if let password { _ = ofPasswords.take(password) }
  }
}
