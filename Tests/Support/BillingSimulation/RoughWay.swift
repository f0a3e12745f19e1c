package import Base
internal import HTTPMessages
package import ProviderAPI

/// The way to a store's API on which each call can come to grief, before it was done or after.
package final class RoughWay: ProviderTransport {
  package enum Mishap: String, Hashable, Sendable, CaseIterable {
    /// No answer, and nothing was done.
    case unreachable
    /// Done, and nobody heard.
    case lostAnswer = "lost_answer"
    case limited, broken
    /// Done, and answered just before we give up.
    case slow
    /// Done, and the answer is no JSON.
    case garbled
    /// Not done: an answer that is no JSON.
    case page
    /// Our process dies before the call, or after it.
    case crashBefore = "crash_before"
    case crashAfter = "crash_after"
  }

  private struct State {
    var callCount = 0
    var mishaps: [Int: Mishap] = [:]
    var isCrashed = false
    var refuses = false
    var calls: [String] = []
    var waits: @Sendable (Instant.Span) -> Void = { _ in }
  }

  /// A little less than an exchange may take.
  private static let slowSpan = Instant.Span.seconds(9)

  private let way: FakeTransport
  private let state = Locked(State())

  package init(_ way: FakeTransport) { self.way = way }

  package var callCount: Int { state.withLock { $0.callCount } }
  package var calls: [String] { state.withLock { $0.calls } }
  package var isCrashed: Bool { state.withLock { $0.isCrashed } }
  package var hasMishaps: Bool { state.withLock { !$0.mishaps.isEmpty } }

  /// What time passes by, where an answer is slow.
  package func whileWaiting(_ body: @escaping @Sendable (Instant.Span) -> Void) {
    state.withLock { $0.waits = body }
  }

  package func plan(_ mishap: Mishap, atCall number: Int) {
    state.withLock { $0.mishaps[number] = mishap }
  }

  package func clear() {
    state.withLock { state in
      state.mishaps = [:]
      state.isCrashed = false
    }
  }

  /// From here on the store refuses whatever it is asked.
  package func refuseAll() { state.withLock { $0.refuses = true } }

  package func comeBack() { state.withLock { $0.isCrashed = false } }

  package func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let (isCrashed, mishap) = state.withLock { state in
      if state.isCrashed { return (true, Mishap?.none) }
      defer { state.callCount += 1 }
      state.calls.append("\(request.method) \(request.url.split(separator: "?")[0])")
      return (false, state.mishaps.removeValue(forKey: state.callCount))
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
}
