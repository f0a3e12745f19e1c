package import Base

/// What goes wrong with a store's API, as a test scripts it. Safe on any thread.
package final class FakeFaults: Sendable {
  package enum Failure: Hashable, Sendable {
    /// With `Retry-After` in seconds where given.
    case status(Int, retryAfter: Int64? = nil)
    /// No answer within anybody's patience.
    case timeout
  }

  private struct State: Sendable {
    var replicaLag = Instant.Span.seconds(0)
    var requestCount = 0
    var failures: [Int: Failure] = [:]
    var losesAnswer = false
  }

  private let state = Locked(State())

  package init() {}

  /// Reads show the state as it was this long ago.
  package var replicaLag: Instant.Span { state.withLock { $0.replicaLag } }

  package func setReplicaLag(_ span: Instant.Span) { state.withLock { $0.replicaLag = span } }

  /// How many requests there were.
  package var requestCount: Int { state.withLock { $0.requestCount } }

  /// Fails the next requests, one for each of the list, in place of those that were to fail.
  package func fail(next failures: [Failure]) {
    state.withLock { state in
      state.failures = [:]
      for (index, failure) in failures.enumerated() {
        state.failures[state.requestCount + index] = failure
      }
    }
  }

  /// Lets the next order be done and its answer be lost.
  package func loseNextAnswer(_ loses: Bool = true) {
    state.withLock { $0.losesAnswer = loses }
  }

  /// Whether the answer to what was just done is lost.
  package func losesAnswer() -> Bool {
    state.withLock { state in
      defer { state.losesAnswer = false }
      return state.losesAnswer
    }
  }

  /// Counts a request; what it fails with, or nil.
  package func failureOfNextRequest() -> Failure? {
    state.withLock { state in
      defer { state.requestCount += 1 }
      return state.failures.removeValue(forKey: state.requestCount)
    }
  }
}
