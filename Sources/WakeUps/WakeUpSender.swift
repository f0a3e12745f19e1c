import Accounts
import Base
import Configuration
import Crypto
import JSON
import ProviderAPI
import Storage
import Streams

/// Sends the wake-ups that are due, each by one instance.
struct WakeUpSender: Sendable {
  let host: ProtocolHost
  let protocols: [any ProtocolRoom.Type]
  let limits: WakeUpLimits
  let gateway: WebhookReceiver
  let transport: any ProviderTransport

  enum Progress: Sendable {
    case idle
    case done
    /// The gateway is to be left alone for a while.
    case rest(Instant.Span)
  }

  /// Sends one wake-up, and calls `ifMore` before if others are due. For any thread.
  func sendNext(ifMore: () -> Void) throws -> Progress {
    let now = host.clock.now()
    let due = try host.database.read { reader in
      try PushRow.due(at: now, atMost: WakeUpLimits.concurrencyMax, reading: reader)
    }
    if due.count > 1 { ifMore() }
    // Each thread begins at another one, so that they seldom want the same.
    for row in due.shuffled() {
      if let seen = try lease(row, at: now) { return try send(row, seen) }
    }
    return due.isEmpty ? .idle : .done
  }

  /// Takes a wake-up, with what the account is like now. Nil if another was first, or the account is shut.
  private func lease(_ row: PushRow, at now: Instant) throws -> Look.Seen? {
    try host.database.write(for: nil) { transaction in
      let seen = try look(at: row, transaction, now: now)
      guard let seen, !seen.isShut else {
        try row.end(sent: nil, next: nil, in: transaction)
        return nil
      }
      let isTaken = try row.lease(
        until: now + WakeUpLimits.leaseSpan, at: now, seen, in: transaction)
      return isTaken ? seen : nil
    }
  }

  private func look(
    at row: PushRow, _ queryable: some Queryable, now: Instant
  ) throws -> Look.Seen? {
    try Look.see([row.account], of: protocols, queryable, now: now)[row.account]
  }

  private func send(_ row: PushRow, _ seen: Look.Seen) throws -> Progress {
    guard let id = row.wakeUp else { return .done }
    let body = JSONValue.object([.init("id", .string(row.pushID))]).encoded()
    let failure: APIFailure?
    do throws(APIFailure) {
      let request = gateway.request(
        id.description, String(decoding: body, as: UTF8.self), at: host.clock.now())
      _ = try transport.send(request).successful()
      failure = nil
    } catch {
      failure = error
    }
    guard let failure else {
      try arrived(row, seen)
      WakeUpMetrics.count(.sent)
      return .done
    }
    return try failed(row, id, failure)
  }

  /// The device may have looked before the gateway's answer was here. So what has changed meanwhile is another reason.
  private func arrived(_ row: PushRow, _ before: Look.Seen) throws {
    let now = host.clock.now()
    try host.database.write(for: nil) { transaction in
      let hasChanged =
        try look(at: row, transaction, now: now)
        .map { $0.number != before.number || $0.digest != before.digest } ?? false
      try row.end(sent: now, next: hasChanged ? now + limits.pause : nil, in: transaction)
    }
  }

  private func failed(_ row: PushRow, _ id: Identifier, _ failure: APIFailure) throws -> Progress {
    let now = host.clock.now()
    var rest: Instant.Span?
    let outcome: WakeUpMetrics.Outcome
    switch failure {
    case .gone:
      try host.database.write(for: nil) { try row.forget(in: $0) }
      outcome = .gone
    case .refused, .notFound:
      try host.database.write(for: nil) { try row.end(sent: nil, next: nil, in: $0) }
      outcome = .refused
    case .transient(_, let retryAfter):
      let asked = min(retryAfter ?? .seconds(0), WakeUpLimits.retryAfterMax)
      let due = now + max(asked, Self.wait(after: row.failureCount))
      try host.database.write(for: nil) { try row.postpone(until: due, in: $0) }
      if retryAfter != nil { rest = min(asked, WakeUpLimits.restMax) }
      outcome = .failed
    case .misconfigured, .malformed:
      let due = now + Self.wait(after: row.failureCount)
      try host.database.write(for: nil) { try row.postpone(until: due, in: $0) }
      outcome = .failed
    }
    WakeUpMetrics.count(outcome)
    Log.warning("sync.wake_up_failed", ["wake_up": id.description, "reason": "\(failure)"])
    return rest.map { .rest($0) } ?? .done
  }

  /// Exponential, and at random between half of it and all.
  private static func wait(after failureCount: Int64) -> Instant.Span {
    let span = min(
      WakeUpLimits.retryMax.milliseconds,
      WakeUpLimits.retryMin.milliseconds << min(max(failureCount, 0), 10))
    return .milliseconds(Int64.random(in: span / 2...span))
  }
}
