internal import Base
internal import Glibc
internal import HTTPMessages

/// The listening socket and the loop that hands what it accepts to the workers in turn.
@safe
final class Acceptor: Sendable {
  private let descriptor: Int32
  private let isStopped = Locked(false)

  init(_ address: SocketAddress) throws(HTTPServerError) {
    let isIPv6 = address.host.contains(":")
    let descriptor = socket(
      isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else {
      throw .cannotListen(address, reason: errorText(errno))
    }
    var on: Int32 = 1
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    let code = isIPv6 ? Self.bind6(descriptor, address) : Self.bind4(descriptor, address)
    guard code == 0, listen(descriptor, Int32(SOMAXCONN)) == 0 else {
      let error = errno
      close(descriptor)
      throw error == EADDRINUSE
        ? .addressInUse(address) : .cannotListen(address, reason: errorText(error))
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// The port that the system chose, where 0 was asked for.
  var port: UInt16 {
    var storage = sockaddr_storage()
    var byteCount = socklen_t(MemoryLayout<sockaddr_storage>.size)
    unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        _ = unsafe getsockname(descriptor, pointer, &byteCount)
      }
    }
    // The port lies at the same place in both families.
    return unsafe withUnsafeBytes(of: &storage) { bytes in
      unsafe UInt16(bytes[2]) << 8 | UInt16(bytes[3])
    }
  }

  /// The accepting thread runs this until `stop`.
  func run(_ core: ServerCore, _ workers: [Worker]) {
    var turn = 0
    while true {
      var storage = sockaddr_storage()
      var byteCount = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let accepted = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          unsafe accept(descriptor, pointer, &byteCount)
        }
      }
      let error = errno
      if isStopped.withLock({ $0 }) {
        if accepted >= 0 { close(accepted) }
        return
      }
      guard accepted >= 0 else {
        pause(after: error)
        continue
      }
      _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
      let address = addressText(&storage)
      guard core.peers.reserve(address, core.limits, isProxy: core.proxies.contains(address)) else {
        core.metrics.connectionsRefused.add()
        refuse(accepted, core)
        continue
      }
      core.metrics.connections.add(1)
      workers[turn].add(
        Intake.Arrival(
          descriptor: accepted, address: address, name: storage, nameByteCount: byteCount))
      turn = (turn + 1) % workers.count
    }
  }

  /// Wakes the loop for its end; the socket closes when the last holder lets go.
  func stop() {
    isStopped.withLock { $0 = true }
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  /// Errors of the connection concern its client; those of the process need a while to pass.
  private func pause(after error: Int32) {
    guard [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error) else { return }
    Log.warning("http.accept_failed", ["reason": errorText(error)])
    usleep(100_000)
  }

  /// Says 503 and closes, rather than let the client wait in the backlog.
  private func refuse(_ descriptor: Int32, _ core: ServerCore) {
    let id = core.requestIDs.next()
    let bytes = Self.full.response(requestID: id).rawBytes(requestID: id)
    // What does not fit into the socket's empty buffer is not worth waiting for.
    _ = unsafe send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
    core.peers.linger(descriptor, until: .now() + core.limits.discardSpan)
  }

  private static let full = Problem(
    503, "too_many_connections", "Too many connections",
    "The server has as many connections as it may have.", retryAfterSeconds: 1)

  private static func bind4(_ descriptor: Int32, _ address: SocketAddress) -> Int32 {
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = address.port.bigEndian
    unsafe inet_pton(AF_INET, address.host, &name.sin_addr)
    return unsafe withUnsafePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  private static func bind6(_ descriptor: Int32, _ address: SocketAddress) -> Int32 {
    var name = sockaddr_in6()
    name.sin6_family = sa_family_t(AF_INET6)
    name.sin6_port = address.port.bigEndian
    unsafe inet_pton(AF_INET6, address.host, &name.sin6_addr)
    return unsafe withUnsafePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in6>.size))
      }
    }
  }
}
