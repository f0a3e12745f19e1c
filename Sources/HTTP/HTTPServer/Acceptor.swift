import Base
import Glibc
import HTTPMessages

/// The listening socket and the loop that passes accepted connections to the workers in turn.
@safe
final class Acceptor: Sendable {
  private let descriptor: Int32
  private let isInherited: Bool
  private let bell: Bell
  private let isStopped = Locked(false)

  /// Listens at the address, or on the inherited socket if there is one, which the acceptor then owns.
  init(_ address: SocketAddress, inherited: Int32?) throws(HTTPServerError) {
    guard let bell = Bell() else { throw .cannotListen(address, reason: systemError()) }
    self.bell = bell
    isInherited = inherited != nil
    descriptor = inherited ?? address.makeOwnedSocket(Int32(SOCK_NONBLOCK.rawValue))
    guard descriptor >= 0 else { throw .cannotListen(address, reason: systemError()) }
    guard inherited == nil else { return }
    var on: Int32 = 1
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    let code = unsafe address.withName { name, byteCount in
      unsafe bind(descriptor, name, byteCount)
    }
    guard code == 0, listen(descriptor, Int32(SOMAXCONN)) == 0 else {
      throw errno == EADDRINUSE
        ? .addressInUse(address) : .cannotListen(address, reason: systemError())
    }
  }

  deinit { close(descriptor) }

  /// The port; the system chose it if 0 was requested.
  var port: UInt16 { SocketAddress(of: descriptor)?.port ?? 0 }

  /// Runs on the accepting thread until `stop`. Every accepted connection is served, even at the end.
  func run(_ core: ServerCore, _ workers: [Worker]) {
    var turn = 0
    while !isStopped.withLock({ $0 }) {
      var storage = sockaddr_storage()
      var byteCount = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let accepted = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          unsafe accept(descriptor, pointer, &byteCount)
        }
      }
      guard accepted >= 0 else {
        let error = errno
        if error == EAGAIN { _ = bell.wait(or: descriptor, for: -1) } else { pause(after: error) }
        continue
      }
      _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
      let address = addressText(&storage)
      guard core.peers.reserve(address, core.limits, isProxy: core.proxies.contains(address)) else {
        core.metrics.connectionsRefused.add()
        refuse(accepted, core, address)
        continue
      }
      core.metrics.connections.add(1)
      workers[turn].add(
        Intake.Arrival(
          descriptor: accepted, address: address, name: storage, nameByteCount: byteCount))
      turn = (turn + 1) % workers.count
    }
  }

  /// Ends the loop. Later clients are refused; on an inherited socket they wait for the next program that has it.
  func stop() {
    isStopped.withLock { $0 = true }
    bell.ring()
    if !isInherited { shutdown(descriptor, Int32(SHUT_RDWR)) }
  }

  /// Waits if the process lacks resources. Other errors concern only the connection's client.
  private func pause(after error: Int32) {
    guard [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error) else { return }
    Log.warning("http.accept_failed", ["reason": systemError(error)])
    usleep(100_000)
  }

  /// Answers 503 and closes, instead of leaving the client in the backlog.
  private func refuse(_ descriptor: Int32, _ core: ServerCore, _ address: String) {
    let id = core.requestIDs.next()
    if core.problems.take(address) {
      Log.info("http.request", ["request": id, "status": "503", "problem": Self.full.code])
    }
    let bytes = Self.full.response(requestID: id).rawBytes(requestID: id)
    // Bytes that do not fit into the socket's empty buffer are not worth waiting for.
    _ = unsafe send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
    core.peers.linger(descriptor, until: .now() + core.limits.discardSpan)
  }

  private static let full = Problem(
    503, "too_many_connections", "Too many connections",
    "The server has reached its maximum number of connections.", retryAfterSeconds: 1)
}
