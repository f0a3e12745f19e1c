/// A fixed number of threads that run submitted work, behind a bounded queue with a lane for each
/// owner: lanes take turns, and within one the order is that of arrival. No owner has more than half
/// of the threads, so that whoever sends much that is long leaves some to the others.
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
    /// How many threads work for each owner.
    var running: [Identifier?: Int] = [:]
    let runningMax: Int
    var isStopped = false

    init(runningMax: Int) { self.runningMax = runningMax }

    mutating func append(_ work: @escaping @Sendable () -> Void, _ owner: Identifier?) {
      if lanes[owner] == nil { turns.append(owner) }
      lanes[owner, default: []].append(work)
      count += 1
    }

    mutating func next() -> Turn? {
      guard let place = turns.firstIndex(where: { running[$0, default: 0] < runningMax }) else {
        return nil
      }
      let owner = turns.remove(at: place)
      guard var lane = lanes.removeValue(forKey: owner) else { return nil }
      let work = lane.removeFirst()
      if !lane.isEmpty {
        lanes[owner] = lane
        turns.append(owner)
      }
      count -= 1
      running[owner, default: 0] += 1
      return Turn(owner: owner, work: work)
    }

    mutating func end(_ turn: Turn) {
      let rest = running[turn.owner, default: 1] - 1
      running[turn.owner] = rest == 0 ? nil : rest
    }
  }

  private struct Turn: Sendable {
    let owner: Identifier?
    let work: @Sendable () -> Void
  }

  /// `capacity` bounds what waits, not what runs; `laneCapacity` what waits in one lane.
  package init(threads threadCount: Int, capacity: Int, laneCapacity: Int? = nil) {
    let state = Locked(State(runningMax: max(1, threadCount / 2)))
    self.state = state
    self.capacity = capacity
    self.laneCapacity = laneCapacity ?? capacity
    threads = (0..<threadCount).map { _ in
      Thread {
        while let turn = Self.take(from: state) {
          turn.work()
          state.signal { $0.end(turn) }
        }
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
  private static func take(from state: Locked<State>) -> Turn? {
    let turn = state.wait { state -> Turn?? in
      if let turn = state.next() { return .some(turn) }
      return state.isStopped && state.count == 0 ? .some(nil) : nil
    }
    return turn ?? nil
  }
}
