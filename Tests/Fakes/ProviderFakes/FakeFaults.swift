package import Base

/// The faults of a store's API, as a test scripts them. Safe on any thread.
package final class FakeFaults: Sendable {
  package enum Failure: Hashable, Sendable {
    /// With `Retry-After` in seconds, if given.
    case status(Int, retryAfter: Int64? = nil)
    /// No answer before the client gives up.
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

  /// Reads show the state of this long ago.
  package var replicaLag: Instant.Span { state.withLock { $0.replicaLag } }

  package func setReplicaLag(_ span: Instant.Span) { state.withLock { $0.replicaLag = span } }

  /// The number of requests so far.
  package var requestCount: Int { state.withLock { $0.requestCount } }

  /// Makes the next requests fail, one for each of the list, instead of those planned before.
  package func fail(next failures: [Failure]) {
    state.withLock { state in
      state.failures = [:]
      for (index, failure) in failures.enumerated() {
        state.failures[state.requestCount + index] = failure
      }
    }
  }

  /// Makes the next order take effect and its answer get lost.
  package func loseNextAnswer(_ loses: Bool = true) {
    state.withLock { $0.losesAnswer = loses }
  }

  /// Whether the answer to the order just performed is lost.
  package func losesAnswer() -> Bool {
    state.withLock { state in
      defer { state.losesAnswer = false }
      return state.losesAnswer
    }
  }

  /// Counts a request; returns its failure, or nil.
  package func failureOfNextRequest() -> Failure? {
    state.withLock { state in
      defer { state.requestCount += 1 }
      return state.failures.removeValue(forKey: state.requestCount)
    }
  }
}
