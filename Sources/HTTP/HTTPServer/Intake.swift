internal import Base
internal import Glibc

/// What other threads have for a worker: new sockets, resumed connections, the word to stop.
final class Intake: Sendable {
  let core: ServerCore
  /// Rung when there is something.
  private let bell: Bell
  private let state = Locked(State())

  private struct State {
    var arrivals: [Arrival] = []
    var isStopped = false
    /// Whether the bell has been rung and not yet heard: once is enough for a whole batch.
    var isRung = false
  }

  /// An accepted socket and whose it is.
  struct Arrival: Sendable {
    let descriptor: Int32
    let address: String
    let name: sockaddr_storage
    let nameByteCount: socklen_t
  }

  /// Nil where the process has too many files open.
  init?(_ core: ServerCore) {
    guard let bell = Bell() else { return nil }
    self.bell = bell
    self.core = core
  }

  func add(_ arrival: Arrival) {
    state.withLock { state in
      state.arrivals.append(arrival)
      ring(&state)
    }
  }

  /// Called after a connection was resumed, which the daemon only sees when it runs.
  func ring() { state.withLock { ring(&$0) } }

  func stop() {
    state.withLock { state in
      state.isStopped = true
      ring(&state)
    }
  }

  private func ring(_ state: inout State) {
    if !state.isRung { bell.ring() }
    state.isRung = true
  }

  /// Waits until there is something here or at `descriptor`, for so long; -1 is for ever.
  func wait(or descriptor: Int32, for milliseconds: Int32) {
    var files = [descriptor, bell.descriptor].map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    unsafe poll(&files, nfds_t(files.count), milliseconds)
    if files[1].revents != 0 { bell.hear() }
  }

  /// The sockets that have come, and whether this is the end.
  func take() -> (arrivals: [Arrival], isStopped: Bool) {
    state.withLock { state in
      state.isRung = false
      defer { state.arrivals = [] }
      return (state.arrivals, state.isStopped)
    }
  }
}
