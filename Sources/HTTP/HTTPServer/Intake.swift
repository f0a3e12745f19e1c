import Base
import Glibc

/// Input for a worker from other threads: new sockets, resumed connections, the request to stop.
final class Intake: Sendable {
  let core: ServerCore
  private let bell: Bell
  private let state = Locked(State())

  private struct State {
    var arrivals: [Arrival] = []
    var isStopped = false
    /// Whether the bell has been rung and not yet heard. One ring is enough for a whole batch.
    var isRung = false
  }

  struct Arrival: Sendable {
    let descriptor: Int32
    let address: String
    let name: sockaddr_storage
    let nameByteCount: socklen_t
  }

  /// Nil if the process has too many files open.
  init?(_ core: ServerCore) {
    guard let bell = Bell() else { return nil }
    self.bell = bell
    self.core = core
  }

  func add(_ arrival: Arrival) {
    ring { $0.arrivals.append(arrival) }
  }

  /// Called after a connection was resumed, because the daemon only sees it when it runs.
  func ring() { ring { _ in } }

  func stop() { ring { $0.isStopped = true } }

  private func ring(_ change: (inout State) -> Void) {
    let isFirst = state.withLock { state in
      change(&state)
      defer { state.isRung = true }
      return !state.isRung
    }
    // Once the lock is free, which the worker needs at once.
    if isFirst { bell.ring() }
  }

  /// Waits for input here or at `descriptor`, at most for `milliseconds`; -1 waits for ever.
  func wait(or descriptor: Int32, for milliseconds: Int32) {
    if bell.wait(or: descriptor, for: milliseconds) { bell.hear() }
  }

  func take() -> (arrivals: [Arrival], isStopped: Bool) {
    state.withLock { state in
      state.isRung = false
      defer { state.arrivals = [] }
      return (state.arrivals, state.isStopped)
    }
  }
}
