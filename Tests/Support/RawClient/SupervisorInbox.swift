import Glibc

/// The datagram socket to which a program reports its state, as with systemd.
package final class SupervisorInbox: Sendable {
  /// The value for `NOTIFY_SOCKET`.
  package let name: String
  private let descriptor: Int32

  /// Nil if the system refuses the socket. An abstract name is not the name of a file.
  package init?(isAbstract: Bool = true) {
    let unique = "coffer-inbox-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    name = isAbstract ? "@" + unique : "/tmp/" + unique
    let path = isAbstract ? [0] + Array(unique.utf8) : Array(name.utf8)
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
    let byteCount = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
    let code = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe bind(descriptor, pointer, byteCount)
      }
    }
    guard code == 0 else { return nil }
  }

  deinit {
    close(descriptor)
    if name.hasPrefix("/") { unsafe unlink(name) }
  }

  /// The next message; nil if there is none within this time.
  package func next(within milliseconds: Int32 = 60_000) -> String? {
    var file = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&file, 1, milliseconds) == 1 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }
}
