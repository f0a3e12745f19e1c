/// A fixed number of threads that run submitted work, behind a bounded queue with a lane for each owner.
///
/// Lanes are served in turns, each in order of arrival. No owner has more than half of the threads.
package final class WorkPool: Sendable {
  private let state: Locked<State>
  private let capacity: Int
  private let laneCapacity: Int
  private let threads: [Thread]

  private struct State {
    /// Only lanes that have work. The owner of each is in `readyLanes` once.
    var lanes: [Identifier?: [@Sendable () -> Void]] = [:]
    var readyLanes: [Identifier?] = []
    var count = 0
    /// The number of threads that work for each owner.
    var running: [Identifier?: Int] = [:]
    let runningMax: Int
    var isStopped = false

    init(runningMax: Int) { self.runningMax = runningMax }

    mutating func append(_ work: @escaping @Sendable () -> Void, _ owner: Identifier?) {
      if lanes[owner] == nil { readyLanes.append(owner) }
      lanes[owner, default: []].append(work)
      count += 1
    }

    mutating func next() -> Taken? {
      guard
        let place = readyLanes.firstIndex(where: { running[$0, default: 0] < runningMax })
      else { return nil }
      let owner = readyLanes.remove(at: place)
      guard var lane = lanes.removeValue(forKey: owner) else { return nil }
      let work = lane.removeFirst()
      if !lane.isEmpty {
        lanes[owner] = lane
        readyLanes.append(owner)
      }
      count -= 1
      running[owner, default: 0] += 1
      return Taken(owner: owner, work: work)
    }

    mutating func end(_ taken: Taken) {
      let rest = running[taken.owner, default: 1] - 1
      running[taken.owner] = rest == 0 ? nil : rest
    }
  }

  private struct Taken: Sendable {
    let owner: Identifier?
    let work: @Sendable () -> Void
  }

  /// `capacity` bounds the work that waits, not the work that runs; `laneCapacity` the same in one lane.
  package init(threads threadCount: Int, capacity: Int, laneCapacity: Int? = nil) {
    let state = Locked(State(runningMax: max(1, threadCount / 2)))
    self.state = state
    self.capacity = capacity
    self.laneCapacity = laneCapacity ?? capacity
    threads = (0..<threadCount).map { _ in
      Thread {
        while let taken = Self.take(from: state) {
          taken.work()
          // This thread takes what may run now. So the others are woken only to end.
          let isStopped = state.withLock { state in
            state.end(taken)
            return state.isStopped
          }
          if isStopped { state.signal { _ in } }
        }
      }
    }
  }

  /// Returns false, without running the work, if the queue or the owner's lane is full, or the pool is stopped. Work
  /// without an owner has a lane of its own.
  package func submit(for owner: Identifier? = nil, _ work: @escaping @Sendable () -> Void) -> Bool
  {
    state.signalOne { state in
      let laneCount = state.lanes[owner]?.count ?? 0
      guard !state.isStopped, state.count < capacity, laneCount < laneCapacity else { return false }
      state.append(work, owner)
      return true
    }
  }

  /// Refuses new work, lets what waits finish, and joins the threads. Call once, and never from work of this pool.
  package func stop() {
    state.signal { $0.isStopped = true }
    for thread in threads { thread.join() }
  }

  /// The next work. Waits for some; nil once the pool is stopped and empty.
  private static func take(from state: Locked<State>) -> Taken? {
    let taken = state.wait { state -> Taken?? in
      if let taken = state.next() { return .some(taken) }
      return state.isStopped && state.count == 0 ? .some(nil) : nil
    }
    return taken ?? nil
  }
}
