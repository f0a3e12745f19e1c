package import Base
import HTTPMessages
package import ProviderAPI

/// A connection to a store's API on which each call can fail, before it takes effect or after.
package final class RoughWay: ProviderTransport {
  package enum Mishap: String, Hashable, Sendable, CaseIterable {
    /// No answer, and no effect.
    case unreachable
    /// It took effect, but the answer was lost.
    case lostAnswer = "lost_answer"
    case limited, broken
    /// It took effect, and the answer came just before our timeout.
    case slow
    /// It took effect, but the answer is not JSON.
    case garbled
    /// No effect: an answer that is not JSON.
    case page
    /// Our process dies before the call, or after it.
    case crashBefore = "crash_before"
    case crashAfter = "crash_after"
  }

  private struct State {
    var callCount = 0
    var mishaps: [Int: Mishap] = [:]
    /// The calls that fail with an answer that the store keeps, and whether they take effect.
    var keptFailures: [Int: Bool] = [:]
    var keptKeys: Set<String> = []
    var isCrashed = false
    var refuses = false
    var calls: [String] = []
    var waits: @Sendable (Instant.Span) -> Void = { _ in }
  }

  /// A little less than our timeout of an exchange.
  private static let slowSpan = Instant.Span.seconds(9)

  private let way: FakeTransport
  private let state = Locked(State())

  package init(_ way: FakeTransport) { self.way = way }

  package var callCount: Int { state.withLock { $0.callCount } }
  package var calls: [String] { state.withLock { $0.calls } }
  package var isCrashed: Bool { state.withLock { $0.isCrashed } }
  package var hasMishaps: Bool { state.withLock { !$0.mishaps.isEmpty } }

  /// Sets what happens with the time that a slow answer takes.
  package func whileWaiting(_ body: @escaping @Sendable (Instant.Span) -> Void) {
    state.withLock { $0.waits = body }
  }

  package func plan(_ mishap: Mishap, atCall number: Int) {
    state.withLock { $0.mishaps[number] = mishap }
  }

  /// Makes a call fail. The store repeats that answer whenever the call's idempotency key is used again.
  package func keepFailure(atCall number: Int, takesEffect: Bool) {
    state.withLock { $0.keptFailures[number] = takesEffect }
  }

  package func clear() {
    state.withLock { state in
      state.mishaps = [:]
      state.isCrashed = false
    }
  }

  /// From now on the store refuses all requests.
  package func refuseAll() { state.withLock { $0.refuses = true } }

  package func comeBack() { state.withLock { $0.isCrashed = false } }

  package func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let (isCrashed, mishap, takesEffect) = state.withLock { state in
      if state.isCrashed { return (true, Mishap?.none, Bool?.none) }
      defer { state.callCount += 1 }
      state.calls.append("\(request.method) \(request.url.split(separator: "?")[0])")
      return (
        false, state.mishaps.removeValue(forKey: state.callCount),
        state.keptFailures.removeValue(forKey: state.callCount)
      )
    }
    if let key = request.headers.first(where: { $0.0 == "Idempotency-Key" })?.1 {
      if let takesEffect {
        if takesEffect { _ = try way.send(request) }
        state.withLock { state in _ = state.keptKeys.insert(key) }
        throw .transient("the provider answers 500", retryAfter: nil)
      }
      if state.withLock({ $0.keptKeys.contains(key) }) { try Self.replay() }
    }
    if state.withLock({ $0.refuses }) {
      return APIReply(
        status: 400, headers: Headers([("Content-Type", "application/json")]),
        body: Array(#"{"error":{"type":"invalid_request_error"}}"#.utf8), elapsed: .milliseconds(5))
    }
    guard !isCrashed else { throw .transient("dead", retryAfter: nil) }
    switch mishap {
    case nil: return try way.send(request)
    case .slow:
      let reply = try way.send(request)
      state.withLock { $0.waits }(Self.slowSpan)
      return reply
    case .unreachable: throw .transient("timeout", retryAfter: nil)
    case .lostAnswer:
      _ = try way.send(request)
      throw .transient("timeout", retryAfter: nil)
    case .limited: throw .transient("the provider answers 429", retryAfter: .seconds(3))
    case .broken: throw .transient("the provider answers 500", retryAfter: nil)
    case .garbled:
      let reply = try way.send(request)
      return APIReply(
        status: reply.status, headers: reply.headers, body: Array("{\"id\":".utf8),
        elapsed: reply.elapsed)
    case .page:
      return APIReply(
        status: 200, headers: Headers([("Content-Type", "text/html")]),
        body: Array("<html>".utf8), elapsed: .milliseconds(5))
    case .crashBefore:
      state.withLock { $0.isCrashed = true }
      throw .transient("dead", retryAfter: nil)
    case .crashAfter:
      _ = try way.send(request)
      state.withLock { $0.isCrashed = true }
      throw .transient("dead", retryAfter: nil)
    }
  }

  private static func replay() throws(APIFailure) {
    let reply = APIReply(
      status: 500, headers: Headers([("Idempotent-Replayed", "true")]), body: [],
      elapsed: .milliseconds(5))
    if let failure = reply.transientFailure { throw failure }
  }
}
