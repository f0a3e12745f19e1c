package import Base

/// How generous we are beyond what was paid: data, recorded by version in what was derived by it.
package struct Policy: Hashable, Sendable {
  package let version: String
  /// Access after the start of the first unpaid period, while payment is being retried.
  package let grace: Instant.Span
  /// Access after a paid end while a renewal is expected and nothing says it failed.
  ///
  /// Longer than a day, so that a day of our own outage locks nobody out.
  package let leeway: Instant.Span
  /// Access after a paid end while a renewal is expected and the store does not answer; counted from
  /// the end, so it is the longest that an outage can hold.
  package let outage: Instant.Span
  /// Whether grace also follows a trial that was never paid for.
  package let graceAfterUnpaidTrial: Bool
  /// Whether a renewal's invoice that was voided gives its period all the same.
  package let courtesyForVoided: Bool
  package let courtesyForUncollectible: Bool
  /// Whether the invoices of a subscription whose collection is paused give their periods.
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

  /// Whether a version is of an earlier release than this one: `standard-5` than `standard-6`. False of what
  /// bears another name.
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
