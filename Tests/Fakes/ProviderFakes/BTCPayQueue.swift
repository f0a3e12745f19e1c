import Base

/// One webhook's deliveries: in memory, one after the other, and dropped after about an hour.
struct BTCPayQueue: Sendable {
  private(set) var rows: [String: Row] = [:]
  /// All deliveries so far, oldest first.
  private(set) var ids: [String] = []
  /// The deliveries to send, in order. The first one holds up the others.
  private var line: [String] = []

  struct Row: Sendable {
    let event: BTCPayWorld.Event
    /// The secret for the first attempt, even if the secret changes before it.
    let secret: Secret
    var attemptCount = 0
    var nextAttempt: Instant
  }

  /// The waits after failures; after the last one the server gives up.
  private static let delays: [Instant.Span] =
    [.seconds(10), .minutes(1)] + Array(repeating: .minutes(10), count: 6)

  mutating func enqueue(_ event: BTCPayWorld.Event, secret: Secret) {
    rows[event.id] = Row(event: event, secret: secret, nextAttempt: event.at)
    ids.append(event.id)
    line.append(event.id)
  }

  /// The delivery to send now.
  func due(at now: Instant) -> String? {
    line.first.flatMap { rows[$0]!.nextAttempt <= now ? $0 : nil }
  }

  mutating func attempt(_ id: String) -> Row {
    defer { rows[id]!.attemptCount += 1 }
    return rows[id]!
  }

  /// Records the receiver's status, 0 for no answer. Any other 4xx or 3xx ends the attempts.
  mutating func answered(_ id: String, status: Int, at now: Instant) {
    let isRetried = status == 0 || status == 408 || status == 429 || status >= 500
    let failureCount = rows[id]!.attemptCount
    guard isRetried, (1...Self.delays.count).contains(failureCount) else {
      line.removeAll { $0 == id }
      return
    }
    rows[id]!.nextAttempt = now + Self.delays[failureCount - 1]
  }

  /// Puts it at the end of the line, as the operator's button does.
  mutating func redeliver(_ id: String, at now: Instant) {
    rows[id]!.attemptCount = max(1, rows[id]!.attemptCount)
    rows[id]!.nextAttempt = now
    line.removeAll { $0 == id }
    line.append(id)
  }

  /// The server was restarted: waiting deliveries are lost without a trace.
  mutating func forget() { line = [] }
}
