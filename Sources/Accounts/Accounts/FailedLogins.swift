package import Base
import HTTPServer

/// Counts log-ins that failed: at most five for each app password and twenty for each address in a quarter of an hour.
package final class FailedLogins: Sendable {
  private static let span = Instant.Span.minutes(15)
  private static let countMax = 10_000

  private static let wrong = refusals("password")
  private static let early = refusals("too_many")

  private let ofPasswords: TokenBuckets<String>
  private let ofAddresses: AddressBudget

  private static func refusals(_ reason: String) -> Metrics.Counter {
    Metrics.shared.counter(
      "coffer_app_log_ins_refused_total",
      "Log-ins with app passwords that were refused, by reason.",
      label: ("reason", reason))
  }

  package init(
    trustsProxies: Bool, now: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now
  ) {
    ofPasswords = TokenBuckets(
      burst: 5, within: Self.span, keyCountMax: Self.countMax, now: now)
    ofAddresses = AddressBudget(
      20, within: Self.span, addressCountMax: Self.countMax, trustsProxies: trustsProxies, now: now)
    // From the start on, not from the first refusal on.
    _ = (Self.wrong, Self.early)
  }

  /// Whether another log-in must wait. `password` is the id; nil if the text has no such form.
  package func areTooMany(of password: String?, from address: String) -> Bool {
    let areTooMany =
      ofAddresses.secondsToWait(address) != nil
      || password.map { ofPasswords.level($0).count == 0 } == true
    if areTooMany { Self.early.add() }
    return areTooMany
  }

  package func note(_ password: String?, from address: String) {
    Self.wrong.add()
    ofAddresses.spend(address)
    if let password { _ = ofPasswords.take(password) }
  }
}
