import Base

/// One webhook's deliveries: in memory, one after the other, and never again after an hour.
struct BTCPayQueue: Sendable {
  private(set) var rows: [String: Row] = [:]
  /// Every delivery there ever was, oldest first.
  private(set) var ids: [String] = []
  /// Those to be sent, in order: the first one holds up the others.
  private var line: [String] = []

  struct Row: Sendable {
    let event: BTCPayWorld.Event
    /// What the first attempt is signed with, whatever the secret is by then.
    let secret: Secret
    var attemptCount = 0
    var nextAttempt: Instant
  }

  /// After the first failure; then the server gives up.
  private static let delays: [Instant.Span] =
    [.seconds(10), .minutes(1)] + Array(repeating: .minutes(10), count: 6)

  mutating func enqueue(_ event: BTCPayWorld.Event, secret: Secret) {
    rows[event.id] = Row(event: event, secret: secret, nextAttempt: event.at)
    ids.append(event.id)
    line.append(event.id)
  }

  /// What is to be sent now.
  func due(at now: Instant) -> String? {
    line.first.flatMap { rows[$0]!.nextAttempt <= now ? $0 : nil }
  }

  mutating func attempt(_ id: String) -> Row {
    defer { rows[id]!.attemptCount += 1 }
    return rows[id]!
  }

  /// What the receiver said, 0 for nothing. Any other 4xx or 3xx is its last word.
  mutating func answered(_ id: String, status: Int, at now: Instant) {
    let isRetried = status == 0 || status == 408 || status == 429 || status >= 500
    let failureCount = rows[id]!.attemptCount
    guard isRetried, (1...Self.delays.count).contains(failureCount) else {
      line.removeAll { $0 == id }
      return
    }
    rows[id]!.nextAttempt = now + Self.delays[failureCount - 1]
  }

  /// An operator's button: to the end of the line.
  mutating func redeliver(_ id: String, at now: Instant) {
    rows[id]!.attemptCount = max(1, rows[id]!.attemptCount)
    rows[id]!.nextAttempt = now
    line.removeAll { $0 == id }
    line.append(id)
  }

  /// The server was stopped and started: what waited is forgotten without a trace.
  mutating func forget() { line = [] }
}
