/// A queue that runs submitted work after a pause, in order, on one thread. The queue is bounded.
///
/// It ends when its last reference goes; work that still waits then runs at once.
package final class Later: Sendable {
  private let state: Locked<State>
  private let pause: Instant.Span
  private let capacity: Int
  private let thread: Thread

  private struct State {
    var waiting: [(due: MonotonicTime, work: @Sendable () -> Void)] = []
    var isEnding = false
  }

  package init(after pause: Instant.Span, capacity: Int) {
    let state = Locked(State())
    self.state = state
    self.pause = pause
    self.capacity = capacity
    thread = Thread {
      while let work = Self.next(from: state) { for item in work { item() } }
    }
  }

  deinit {
    state.signal { $0.isEnding = true }
    thread.join()
  }

  /// Returns false if the queue is full; the work is then not run.
  package func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
    state.signal { state in
      guard state.waiting.count < capacity else { return false }
      state.waiting.append((.now() + pause, work))
      return true
    }
  }

  private static func next(from state: Locked<State>) -> [@Sendable () -> Void]? {
    while true {
      let first = state.wait { state -> MonotonicTime?? in
        if let first = state.waiting.first { return .some(state.isEnding ? .now() : first.due) }
        return state.isEnding ? .some(nil) : nil
      }
      guard let due = first ?? nil else { return nil }
      _ = state.wait(until: due) { $0.isEnding ? true : nil }
      let work = state.withLock { state in
        let count =
          state.isEnding
          ? state.waiting.count : state.waiting.prefix { $0.due <= .now() }.count
        defer { state.waiting.removeFirst(count) }
        return state.waiting.prefix(count).map(\.work)
      }
      if !work.isEmpty { return work }
    }
  }
}
