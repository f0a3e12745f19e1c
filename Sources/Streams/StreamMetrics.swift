import Base

enum StreamMetrics {
  static let open = Metrics.shared.gauge("coffer_streams", "Live streams that are open.")
  static let events = Metrics.shared.counter(
    "coffer_stream_events_total", "Events sent on live streams.")
  static let missed = Metrics.shared.counter(
    "coffer_stream_missed_news_total",
    "Changes of accounts with streams that no message told and a look at the database found.")
  private static let ended: [StreamEnd: Metrics.Counter] = Metrics.shared.counters(
    "coffer_streams_ended_total", "Live streams that ended, by reason.", by: "reason")
  private static let refused: [StreamRefusal.Limit: Metrics.Counter] = Metrics.shared.counters(
    "coffer_streams_refused_total", "Live streams that were refused, by the limit reached.",
    by: "limit")

  /// Exposes every instrument from the start, with the value 0.
  static func register() { _ = (open, events, missed, ended, refused) }

  static func end(_ reason: StreamEnd) { ended[reason]?.add() }

  static func refuse(_ refusal: StreamRefusal) { refused[refusal.limit]?.add() }
}

enum StreamEnd: String, CaseIterable, Sendable {
  /// The client closed it, or cannot be reached.
  case closed
  /// The client left everything unread.
  case stalled
  case aged
  /// The key was revoked, the session has ended, or the account is suspended or erased.
  case revoked
  case stopped
}
