import Base
import Glibc

/// One client connection as the reaper sees it: its socket and its deadline.
final class Peer: Sendable {
  private struct State {
    var deadline: MonotonicTime
    var waiting: (any Expirable)?
    var isFirst = true
    var isAnswering = false
    /// When the connection began to wait for a complete header; nil while a complete request is being answered.
    var idleSince: MonotonicTime?
    var closesAfterAnswer = false
    var refusesWaiting = false
    var isHandedOver = false
  }

  let descriptor: Int32
  let address: String
  /// The network that connections are counted by.
  let network: String
  private let state: Locked<State>

  init(descriptor: Int32, address: String, deadline: MonotonicTime) {
    self.descriptor = descriptor
    self.address = address
    network = ClientNetwork.of(address)
    state = Locked(State(deadline: deadline, idleSince: .now()))
  }

  /// Since when the connection has had no complete request; nil if it has one.
  var idleSince: MonotonicTime? { state.withLock { $0.idleSince } }

  /// Records that the header section is complete: its request will be answered, however many others want to connect.
  func completeHead() { state.withLock { $0.idleSince = nil } }

  /// Closes the connection to make room for another; false if it has a complete request by now.
  func yield() -> Bool {
    state.withLock { state in
      guard state.idleSince != nil else { return false }
      state.idleSince = nil
      hangUp(state)
      return true
    }
  }

  /// Records a request line. The first request of a connection keeps the connection's deadline.
  func begin(until deadline: MonotonicTime) {
    state.withLock { state in
      if !state.isFirst { state.deadline = deadline }
      state.isFirst = false
      state.isAnswering = true
    }
  }

  /// Records that the request went on to its body.
  func receive(until deadline: MonotonicTime) {
    state.withLock { state in
      state.deadline = deadline
      state.waiting = nil
    }
  }

  /// Records a pending step; false if the server is stopping and must not wait for it.
  func wait(for waiting: any Expirable, until deadline: MonotonicTime) -> Bool {
    state.withLock { state in
      guard !state.refusesWaiting else { return false }
      state.deadline = deadline
      state.waiting = waiting
      return true
    }
  }

  /// Records that a response is about to be sent; true if it must be the connection's last.
  func send(until deadline: MonotonicTime) -> Bool {
    state.withLock { state in
      state.deadline = deadline
      state.waiting = nil
      return state.closesAfterAnswer
    }
  }

  /// Records that the response waits for its next block; false if the server is stopping. The deadline stays.
  func wait(for block: any Expirable) -> Bool {
    state.withLock { state in
      guard !state.refusesWaiting else { return false }
      state.waiting = block
      return true
    }
  }

  func goOn() { state.withLock { $0.waiting = nil } }

  /// Records that the request is over and the next may come.
  func rest(until deadline: MonotonicTime) {
    state.withLock { state in
      state.deadline = deadline
      state.isAnswering = false
      state.idleSince = .now()
      state.waiting = nil
      // The response was sent with keep-alive before the server began to drain.
      if state.closesAfterAnswer { hangUp(state) }
    }
  }

  /// Closes the connection after the request under way, or after the one that the client has just connected for.
  func close() {
    state.withLock { state in
      state.closesAfterAnswer = true
      guard !state.isAnswering else { return }
      if state.isFirst {
        state.deadline = min(state.deadline, .now() + Self.firstSpan)
      } else {
        hangUp(state)
      }
    }
  }

  private static let firstSpan = Instant.Span.seconds(1)

  /// Ends what is overdue. A pending step is returned, for the caller to end; any other connection is closed.
  func reap(_ now: MonotonicTime) -> (any Expirable)? {
    state.withLock { state in
      guard state.deadline < now else { return nil }
      if let waiting = state.waiting { return waiting }
      hangUp(state)
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

  /// Sends a response without libmicrohttpd, which accepts none once a body has begun.
  ///
  /// Only for the worker, which must then close the connection. What the socket's buffer does not take is lost.
  func sendLast(_ bytes: [UInt8]) {
    _ = unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
  }

  /// Another descriptor of the socket, for an owner that outlives libmicrohttpd's; nil if there is none to be had.
  ///
  /// From now on nothing here ends the connection. Both descriptors have one connection, which `shutdown` would end.
  func handOver() -> Int32? {
    state.withLock { state in
      let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
      guard copy >= 0 else { return nil }
      state.isHandedOver = true
      return copy
    }
  }

  /// Sends bytes past libmicrohttpd; false unless the socket's buffer took them all. Call it only from the worker.
  func sendAll(_ bytes: [UInt8]) -> Bool {
    unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
      == bytes.count
  }

  /// Makes libmicrohttpd see the end of the connection. Call it only while the peer is registered.
  func hangUp() { state.withLock { hangUp($0) } }

  private func hangUp(_ state: State) {
    if !state.isHandedOver { shutdown(descriptor, Int32(SHUT_RDWR)) }
  }
}
