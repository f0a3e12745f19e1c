/// A fixed number of threads that run submitted work, behind a bounded queue with a lane for each
/// owner: lanes take turns, and within one the order is that of arrival.
package final class WorkPool: Sendable {
  private let state: Locked<State>
  private let capacity: Int
  private let laneCapacity: Int
  private let threads: [Thread]

  private struct State {
    /// Only lanes with work, whose owners stand in `turns` once.
    var lanes: [Identifier?: [@Sendable () -> Void]] = [:]
    var turns: [Identifier?] = []
    var count = 0
    var isStopped = false

    mutating func append(_ work: @escaping @Sendable () -> Void, _ owner: Identifier?) {
      if lanes[owner] == nil { turns.append(owner) }
      lanes[owner, default: []].append(work)
      count += 1
    }

    mutating func next() -> (@Sendable () -> Void)? {
      guard !turns.isEmpty else { return nil }
      let owner = turns.removeFirst()
      guard var lane = lanes.removeValue(forKey: owner) else { return nil }
      let work = lane.removeFirst()
      if !lane.isEmpty {
        lanes[owner] = lane
        turns.append(owner)
      }
      count -= 1
      return work
    }
  }

  /// `capacity` bounds what waits, not what runs; `laneCapacity` what waits in one lane.
  package init(threads threadCount: Int, capacity: Int, laneCapacity: Int? = nil) {
    let state = Locked(State())
    self.state = state
    self.capacity = capacity
    self.laneCapacity = laneCapacity ?? capacity
    threads = (0..<threadCount).map { _ in
      Thread {
        while let work = Self.take(from: state) { work() }
      }
    }
  }

  /// False when the queue or the owner's lane is full or the pool is stopped; the work is then not
  /// run. What is nobody's has a lane of its own.
  package func submit(for owner: Identifier? = nil, _ work: @escaping @Sendable () -> Void) -> Bool
  {
    state.signal { state in
      let laneCount = state.lanes[owner]?.count ?? 0
      guard !state.isStopped, state.count < capacity, laneCount < laneCapacity else { return false }
      state.append(work, owner)
      return true
    }
  }

  /// Refuses new work, lets what waits and runs finish, and joins the threads. Call once, and never
  /// from work of this pool.
  package func stop() {
    state.signal { $0.isStopped = true }
    for thread in threads { thread.join() }
  }

  /// The next work, waiting for some; nil once the pool is stopped and empty.
  private static func take(from state: Locked<State>) -> (@Sendable () -> Void)? {
    let work = state.wait { state -> (@Sendable () -> Void)?? in
      if let work = state.next() { return .some(work) }
      return state.isStopped ? .some(nil) : nil
    }
    return work ?? nil
  }
}
