import Base

enum LogMetrics {
  static let appended = counter("logs")
  /// Those that came from clients of Actual.
  static let appendedByActual = counter("actual")

  /// Exposes every instrument from the start, with the value 0.
  static func register() { _ = (appended, appendedByActual) }

  private static func counter(_ protocolName: String) -> Metrics.Counter {
    Metrics.shared.counter(
      "coffer_log_messages_total", "Messages that were appended to logs, by the client's protocol.",
      label: ("protocol", protocolName))
  }
}
