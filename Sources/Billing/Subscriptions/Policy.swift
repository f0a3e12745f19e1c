package import Base

/// How generous Coffer is beyond what was paid. It is data; its version is recorded in what was
/// derived under it.
package struct Policy: Hashable, Sendable {
  package let version: String
  /// Access after the start of the first unpaid period, while payment is being retried.
  package let grace: Instant.Span
  /// Access after a paid end while a renewal is expected and nothing reports that it failed.
  ///
  /// Longer than a day, so that a one-day outage of Coffer locks no one out.
  package let leeway: Instant.Span
  /// Access after a paid end while a renewal is expected and the store does not answer. It is
  /// counted from the end, so it is the longest that an outage can extend access.
  package let outage: Instant.Span
  /// Whether grace also follows a trial that was never paid for.
  package let graceAfterUnpaidTrial: Bool
  /// Whether a renewal whose invoice was voided still gives its period.
  package let courtesyForVoided: Bool
  package let courtesyForUncollectible: Bool
  /// Whether the invoices of a subscription with paused collection give their periods.
  package let courtesyForPausedCollection: Bool
  package let reversals: ReversalTable

  package init(
    version: String, grace: Instant.Span, leeway: Instant.Span,
    outage: Instant.Span = .days(7), graceAfterUnpaidTrial: Bool, courtesyForVoided: Bool,
    courtesyForUncollectible: Bool, courtesyForPausedCollection: Bool,
    reversals: ReversalTable = .standard
  ) {
    self.version = version
    self.grace = grace
    self.leeway = leeway
    self.outage = outage
    self.graceAfterUnpaidTrial = graceAfterUnpaidTrial
    self.courtesyForVoided = courtesyForVoided
    self.courtesyForUncollectible = courtesyForUncollectible
    self.courtesyForPausedCollection = courtesyForPausedCollection
    self.reversals = reversals
  }

  /// Whether `version` is an earlier release than this one, as `standard-5` is than `standard-6`.
  /// False if the names differ.
  package func isLater(than version: String) -> Bool {
    func parts(_ version: String) -> (name: Substring, number: Int)? {
      guard let dash = version.lastIndex(of: "-"),
        let number = Int(version[version.index(after: dash)...])
      else { return nil }
      return (version[..<dash], number)
    }
    guard let own = parts(self.version), let other = parts(version) else { return false }
    return own.name == other.name && other.number < own.number
  }

  package static let standard = Policy(
    version: "standard-6", grace: .days(7), leeway: .hours(26), graceAfterUnpaidTrial: false,
    courtesyForVoided: true, courtesyForUncollectible: false, courtesyForPausedCollection: true)
}
