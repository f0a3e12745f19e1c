package import Base

/// How generous Coffer is beyond what was paid. It is data; its version is recorded in what was
/// derived under it.
package struct Policy: Hashable, Sendable {
  package var version = "standard-6"
  /// Access after the start of the first unpaid period, while payment is being retried.
  package var grace = Instant.Span.days(7)
  /// Access after a paid end while a renewal is expected and nothing reports that it failed. Longer
  /// than a day, so that a one-day outage of Coffer locks no one out.
  package var leeway = Instant.Span.hours(26)
  /// Access after a paid end while a renewal is expected and the store does not answer. It is
  /// counted from the end, so it is the longest that an outage can extend access.
  package var outage = Instant.Span.days(7)
  /// Whether grace also follows a trial that was never paid for.
  package var graceAfterUnpaidTrial = false
  /// Whether a renewal whose invoice was voided still gives its period.
  package var courtesyForVoided = true
  package var courtesyForUncollectible = false
  /// Whether the invoices of a subscription with paused collection give their periods.
  package var courtesyForPausedCollection = true
  package var reversals = ReversalTable.standard

  package static let standard = Policy()

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
}
