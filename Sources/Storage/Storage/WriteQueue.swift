package import Base

/// A bounded queue of writes, served one account after the other.
///
/// An account with too many writes fills only its own lane, so another account's write waits for at most one round.
package final class WriteQueue: Sendable {
  private let state: Locked<State>
  private let capacity: Int
  private let capacityPerAccount: Int
  private let servesAccountsSerially: Bool
  private let gauge: Metrics.Gauge

  private struct State {
    var lanes: [Identifier?: Queue<WriteRequest>] = [:]
    /// Lanes that have work and may be served, in the order of service.
    var readyLanes = Queue<Identifier?>()
    /// Accounts with a running write, if accounts are served serially.
    var running: Set<Identifier> = []
    var count = 0
    var isStopped = false
  }

  /// With `servesAccountsSerially`, an account has one write running at a time, because several would only wait at the
  /// owner's row. Call `finished` after each.
  package init(
    capacity: Int, capacityPerAccount: Int, servesAccountsSerially: Bool, gauge: Metrics.Gauge
  ) {
    self.capacity = capacity
    self.capacityPerAccount = capacityPerAccount
    self.servesAccountsSerially = servesAccountsSerially
    self.gauge = gauge
    state = Locked(State())
  }

  package func append(_ request: WriteRequest) throws(DatabaseError) {
    let refusal = state.signal { state -> DatabaseError? in
      guard !state.isStopped else { return .unavailable(reason: "the database is closed") }
      let laneCount = state.lanes[request.account]?.count ?? 0
      let isWithinLane = request.account == nil || laneCount < capacityPerAccount
      guard state.count < capacity, isWithinLane else { return .busy(retryAfterSeconds: 1) }
      state.lanes[request.account, default: Queue()].append(request)
      let isRunning = request.account.map { state.running.contains($0) } ?? false
      if laneCount == 0, !isRunning { state.readyLanes.append(request.account) }
      state.count += 1
      gauge.add(1)
      return nil
    }
    if let refusal { throw refusal }
  }

  /// The next lane's write. Waits for one; nil once the queue is stopped and empty.
  package func next() -> WriteRequest? {
    let taken = state.wait { state -> WriteRequest?? in
      if let request = take(from: &state) { return .some(request) }
      return state.isStopped && state.count == 0 ? .some(nil) : nil
    }
    return taken ?? nil
  }

  /// The next lane's write; nil if none is waiting.
  package func nextIfAny() -> WriteRequest? { state.withLock { take(from: &$0) } }

  /// Lets the account's next write run.
  package func finished(_ request: WriteRequest) {
    guard servesAccountsSerially, let account = request.account else { return }
    state.signal { state in
      state.running.remove(account)
      if state.lanes[account] != nil { state.readyLanes.append(account) }
    }
  }

  /// Removes every write whose deadline has passed, while the writer cannot serve any.
  package func takeExpired(at now: MonotonicTime) -> [WriteRequest] {
    state.withLock { state in
      var expired: [WriteRequest] = []
      for account in Array(state.lanes.keys) {
        guard var lane = state.lanes.removeValue(forKey: account) else { continue }
        expired += lane.removeAll { $0.deadline <= now }
        if !lane.isEmpty { state.lanes[account] = lane }
      }
      let lanes = state.lanes
      _ = state.readyLanes.removeAll { lanes[$0] == nil }
      state.count -= expired.count
      gauge.add(-Int64(expired.count))
      return expired
    }
  }

  /// Refuses new writes. Waiting ones are still handed out.
  package func stop() { state.signal { $0.isStopped = true } }

  package var count: Int { state.withLock { $0.count } }

  private func take(from state: inout State) -> WriteRequest? {
    while let account = state.readyLanes.popFirst() {
      guard var lane = state.lanes.removeValue(forKey: account), let request = lane.popFirst()
      else { continue }
      let hasMore = !lane.isEmpty
      if hasMore { state.lanes[account] = lane }
      if servesAccountsSerially, let account {
        state.running.insert(account)
      } else if hasMore {
        state.readyLanes.append(account)
      }
      state.count -= 1
      gauge.add(-1)
      return request
    }
    return nil
  }
}
