import Base
import Glibc
import HTTPMessages

/// All open connections, and the thread that ends those that are overdue.
///
/// libmicrohttpd's own timeout only sees silence: neither a byte a second nor a suspended connection's client gone.
final class Peers: Sendable {
  private struct State {
    var members: [Int32: Peer] = [:]
    /// Accepted connections; `members` are those of them that libmicrohttpd knows of.
    var count = 0
    var networks: [String: Network] = [:]
    var lingering: [Lingering] = []
    var isDraining = false
    var isStopped = false

    mutating func release(_ network: String) {
      count -= 1
      networks[network]?.count -= 1
      if networks[network]?.count == 0 { networks[network] = nil }
    }
  }

  /// The connections of one address, or one IPv6 network of 64 bits.
  private struct Network {
    /// Accepted connections, including those that are still closing to make room for others.
    var count = 0
    var members: [Int32: Peer] = [:]

    /// Whether one more is possible, perhaps after the one idle longest is closed. As many again may still be closing.
    func takesOneMore(_ countMax: Int) -> Bool {
      if count < countMax { return true }
      guard count / 2 < countMax else { return false }
      let idle = members.values.compactMap { peer in peer.idleSince.map { (peer, $0) } }
      return idle.sorted { $0.1 < $1.1 }.contains { $0.0.yield() }
    }
  }

  private let state = Locked(State())
  private let tick: Instant.Span

  /// `tick` is the longest delay of a deadline.
  init(tick: Instant.Span) { self.tick = tick }

  /// Counts a new connection; false if there are too many, in total or from its address.
  ///
  /// An address at its limit loses the connection that has been idle the longest, so idle ones shut out no others.
  func reserve(_ address: String, _ limits: ServerLimits, isProxy: Bool) -> Bool {
    state.withLock { state in
      let network = ClientNetwork.of(address)
      let known = state.networks[network] ?? Network()
      guard state.count < limits.connectionCountMax,
        isProxy || known.takesOneMore(limits.connectionsPerAddressMax ?? .max)
      else { return false }
      state.count += 1
      state.networks[network, default: Network()].count += 1
      return true
    }
  }

  func release(_ address: String) { state.signal { $0.release(ClientNetwork.of(address)) } }

  /// Called before libmicrohttpd reads from the socket.
  func add(_ peer: Peer) {
    state.withLock { state in
      state.members[peer.descriptor] = peer
      state.networks[peer.network]?.members[peer.descriptor] = peer
      if state.isDraining { peer.close() }
    }
  }

  /// Called before libmicrohttpd closes the socket, because its number may then become another file's.
  func remove(_ peer: Peer) {
    state.signal { state in
      state.members[peer.descriptor] = nil
      state.networks[peer.network]?.members[peer.descriptor] = nil
      state.release(peer.network)
    }
  }

  /// Keeps the socket of a peer that is about to close and may still be sending what was refused.
  func linger(after peer: Peer, until deadline: MonotonicTime) {
    let copy = fcntl(peer.descriptor, F_DUPFD_CLOEXEC, 0)
    if copy >= 0 { linger(copy, until: deadline) }
  }

  /// Takes over a socket.
  func linger(_ descriptor: Int32, until deadline: MonotonicTime) {
    state.withLock { state in
      if state.lingering.count < Self.lingeringCountMax {
        state.lingering.append(Lingering(descriptor, until: deadline))
      } else {
        close(descriptor)
      }
    }
  }

  private static let lingeringCountMax = 256

  /// Runs on the reaper's thread until `stop`.
  func reap() {
    while true {
      let isStopped = state.wait(until: .now() + tick) { $0.isStopped ? true : nil }
      if isStopped != nil { break }
      let now = MonotonicTime.now()
      let overdue = state.withLock { $0.members.values.compactMap { $0.reap(now) } }
      for waiting in overdue { waiting.expire(Self.tookTooLong) }
      discardLate(now)
    }
    discardLate(nil)
  }

  private func discardLate(_ now: MonotonicTime?) {
    var lingering = state.withLock { state in
      let lingering = state.lingering
      state.lingering = []
      return lingering
    }
    lingering.removeAll { $0.isOver(now) }
    state.withLock { $0.lingering += lingering }
  }

  func stop() { state.signal { $0.isStopped = true } }

  /// Closes idle connections now and the others after their response.
  func drain() {
    state.withLock { state in
      state.isDraining = true
      for peer in state.members.values { peer.close() }
    }
  }

  func refuseWaiting() {
    let waiting = state.withLock { $0.members.values.compactMap { $0.refuseWaiting() } }
    for step in waiting { step.expire(Self.isStopping) }
  }

  func hangUp() { state.withLock { $0.members.values.forEach { $0.hangUp() } } }

  /// Whether every connection has gone before the deadline.
  func isEmpty(by deadline: MonotonicTime) -> Bool {
    state.wait(until: deadline) { $0.count == 0 ? true : nil } ?? false
  }

  private static let tookTooLong = Problem(
    503, "timeout", "The request took too long",
    "The server could not answer in time. It is unknown whether the request took effect.",
    retryAfterSeconds: 5)

  static let isStopping = Problem(
    503, "stopping", "The server is stopping",
    "The server is stopping. It is unknown whether the request took effect.",
    retryAfterSeconds: 5)
}

/// A socket that got its response before all of its request was read.
///
/// If it were closed at once, the client might never read the response (RFC 9112, section 9.6).
private struct Lingering {
  private let descriptor: Int32
  private let deadline: MonotonicTime

  init(_ descriptor: Int32, until deadline: MonotonicTime) {
    self.descriptor = descriptor
    self.deadline = deadline
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Reads what has arrived. Closes the socket at its end, at the deadline, or if `now` is nil.
  func isOver(_ now: MonotonicTime?) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 16 * 1024)
    var isOpen = true
    for _ in 0..<Self.readCountMax {
      let count = unsafe recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
      if count > 0 { continue }
      isOpen = count < 0 && (errno == EAGAIN || errno == EINTR)
      break
    }
    if isOpen, let now, now < deadline { return false }
    close(descriptor)
    return true
  }

  private static let readCountMax = 16
}
