import Base

enum WakeUpMetrics {
  private static let ended: [Outcome: Metrics.Counter] = Metrics.shared.counters(
    "coffer_wake_ups_total", "Wake-ups of devices that were tried, by outcome.", by: "outcome")
  static let delay = Metrics.shared.gauge(
    "coffer_wake_up_delay_seconds", "How long the wake-up that is most overdue waits.")

  enum Outcome: String, CaseIterable {
    case sent
    /// The gateway did not answer, or wants no more for a while. It is tried again.
    case failed
    case refused
    /// The gateway no longer knows the push id, which was removed.
    case gone
  }

  /// Exposes every instrument from the start, with the value 0.
  static func register() { _ = (ended, delay) }

  static func count(_ outcome: Outcome) { ended[outcome]?.add() }
}
