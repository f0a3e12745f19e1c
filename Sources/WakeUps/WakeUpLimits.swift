package import Base

/// How often devices are woken, and how patiently.
package struct WakeUpLimits: Sendable {
  /// The least time between two wake-ups of one device.
  package var pause = Instant.Span.seconds(30)
  /// How long after the first news of an account its devices are woken: what comes until then is told together.
  package var delay = Instant.Span.seconds(1)
  /// How often all accounts with registered devices are looked at, for what no news told.
  package var lookSpan = Instant.Span.hours(1)
  /// How many accounts that follow those with news are looked at in one turn.
  package var followerCountMax = 1000

  package init() {}

  static let concurrencyMax = 8
  /// When another instance sends a wake-up whose sender does not come back. Longer than any answer takes.
  static let leaseSpan = Instant.Span.minutes(1)
  /// The wait after the first failure of a wake-up; it doubles with each further one.
  static let retryMin = Instant.Span.seconds(5)
  static let retryMax = Instant.Span.minutes(10)
  /// The longest wait that the gateway can ask for, for one wake-up and for all.
  static let retryAfterMax = Instant.Span.hours(1)
  static let restMax = Instant.Span.minutes(1)
}
