import Base
import Objects

/// Which processes that share the bucket run, as of the last look.
///
/// A server asks inside of transactions, which must not wait for a network. So the answer is from memory.
final class BucketPresence: Sendable {
  private struct State {
    var valid: [Identifier: Bool] = [:]
    /// When the last look that succeeded began.
    var looked = MonotonicTime.now()
    /// Processes that no look has found, by the time they were first asked for.
    var unknown: [Identifier: MonotonicTime] = [:]
  }

  private static let unknownCountMax = 10_000
  private let client: BucketClient
  private let state = Locked(State())

  init(_ client: BucketClient) throws(ObjectStoreError) {
    self.client = client
    try look()
  }

  func look() throws(ObjectStoreError) {
    let begun = MonotonicTime.now()
    let found = try BucketLease.all(client, in: .instances)
    state.withLock { state in
      state.looked = begun
      state.valid = Dictionary(found.map { ($0.id, $0.isValid) }) { $0 || $1 }
      if state.unknown.count > Self.unknownCountMax { state.unknown = [:] }
    }
  }

  /// True as long as it is not known: a process may have begun since the last look.
  func isRunning(_ instance: Identifier) -> Bool {
    state.withLock { state in
      if let isValid = state.valid[instance] { return isValid }
      if let asked = state.unknown[instance] { return state.looked <= asked }
      state.unknown[instance] = .now()
      return true
    }
  }

  var others: [(id: Identifier, isValid: Bool)] {
    state.withLock { $0.valid.map { ($0.key, $0.value) } }
  }
}
