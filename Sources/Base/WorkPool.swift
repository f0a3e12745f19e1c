/// A fixed number of threads that run submitted work in order of arrival, behind a bounded queue.
package final class WorkPool: Sendable {
  private let state: Locked<State>
  private let capacity: Int
  private let threads: [Thread]

  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var head = 0
    var isStopped = false

    var count: Int { waiting.count - head }

    mutating func next() -> (@Sendable () -> Void)? {
      guard count > 0 else { return nil }
      let work = waiting[head]
      waiting[head] = {}
      head += 1
      if head * 2 >= waiting.count {
        waiting.removeFirst(head)
        head = 0
      }
      return work
    }
  }

  /// `capacity` bounds what waits, not what runs.
  package init(threads threadCount: Int, capacity: Int) {
    let state = Locked(State())
    self.state = state
    self.capacity = capacity
    threads = (0..<threadCount).map { _ in
      Thread {
        while let work = Self.take(from: state) { work() }
      }
    }
  }

  /// False when the queue is full or the pool is stopped; the work is then not run.
  package func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
    state.signal { state in
      guard !state.isStopped, state.count < capacity else { return false }
      state.waiting.append(work)
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
