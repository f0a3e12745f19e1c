internal import Base
internal import Glibc
internal import HTTPMessages

/// One client connection as the reaper sees it: its socket and the moment it must be done by.
final class Peer: Sendable {
  private struct State {
    var deadline: MonotonicTime
    var waiting: (any Expirable)?
    var isFirst = true
    var isAnswering = false
    /// Since when nothing but a header was to come; nil while a whole one is being answered.
    var idleSince: MonotonicTime?
    var closesAfterAnswer = false
    var refusesWaiting = false
  }

  let descriptor: Int32
  let address: String
  /// What connections are counted by.
  let network: String
  private let state: Locked<State>

  init(descriptor: Int32, address: String, deadline: MonotonicTime) {
    self.descriptor = descriptor
    self.address = address
    network = ClientNetwork.of(address)
    state = Locked(State(deadline: deadline, idleSince: .now()))
  }

  /// Since when the connection has had no whole request; nil where it has one.
  var idleSince: MonotonicTime? { state.withLock { $0.idleSince } }

  /// The header section is complete: its request will be answered, whoever else wants to connect.
  func completeHead() { state.withLock { $0.idleSince = nil } }

  /// Closes the connection to make room for another; false where it has a whole request by now.
  func yield() -> Bool {
    state.withLock { state in
      guard state.idleSince != nil else { return false }
      state.idleSince = nil
      hangUp()
      return true
    }
  }

  /// A request line came. The first request of a connection keeps the connection's deadline.
  func begin(until deadline: MonotonicTime) {
    state.withLock { state in
      if !state.isFirst { state.deadline = deadline }
      state.isFirst = false
      state.isAnswering = true
    }
  }

  /// The request went on to its body.
  func receive(until deadline: MonotonicTime) {
    state.withLock { state in
      state.deadline = deadline
      state.waiting = nil
    }
  }

  /// A step is pending; false where the server is stopping and must not wait for it.
  func wait(for waiting: any Expirable, until deadline: MonotonicTime) -> Bool {
    state.withLock { state in
      guard !state.refusesWaiting else { return false }
      state.deadline = deadline
      state.waiting = waiting
      return true
    }
  }

  /// An answer is about to be sent; true where it must be the connection's last.
  func send(until deadline: MonotonicTime) -> Bool {
    state.withLock { state in
      state.deadline = deadline
      state.waiting = nil
      return state.closesAfterAnswer
    }
  }

  /// The request is over and the next may come.
  func rest(until deadline: MonotonicTime) {
    state.withLock { state in
      state.deadline = deadline
      state.isAnswering = false
      state.idleSince = .now()
      state.waiting = nil
      // The answer went out with keep-alive before the server began to drain.
      if state.closesAfterAnswer { hangUp() }
    }
  }

  /// Lets a request that is under way end, or one for whose sake the client has just come, and
  /// closes the connection after it.
  func close() {
    state.withLock { state in
      state.closesAfterAnswer = true
      guard !state.isAnswering else { return }
      if state.isFirst {
        state.deadline = min(state.deadline, .now() + Self.firstSpan)
      } else {
        hangUp()
      }
    }
  }

  private static let firstSpan = Instant.Span.seconds(1)

  /// What is overdue: a pending step is returned to be ended, any other connection is closed.
  func reap(_ now: MonotonicTime) -> (any Expirable)? {
    state.withLock { state in
      guard state.deadline < now else { return nil }
      if let waiting = state.waiting { return waiting }
      hangUp()
      return nil
    }
  }

  /// Takes the pending step, and lets no other begin.
  func refuseWaiting() -> (any Expirable)? {
    state.withLock { state in
      state.refusesWaiting = true
      return state.waiting
    }
  }

  /// Sends an answer behind libmicrohttpd's back, which takes none once a body has begun.
  ///
  /// Only from the worker, which must then close the connection; what the socket's buffer does not
  /// take is lost.
  func sendLast(_ bytes: [UInt8]) {
    _ = unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
  }

  /// Makes libmicrohttpd see the end of the connection. Only while the peer is registered.
  func hangUp() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
