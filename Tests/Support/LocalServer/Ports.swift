import Base
import Glibc

/// Ports for servers whose port must be known before they start.
package enum Ports {
  /// Below the range that the system gives to clients (ip_local_port_range begins at 32768). So no connection
  /// of another test takes the port before its server starts, or during a restart.
  private static let range: Range<UInt16> = 15_000..<32_000
  private static let taken = Locked<Set<UInt16>>([])

  /// A port of 127.0.0.1 that nothing listens on and that this process has not handed out before.
  package static func free() -> UInt16 {
    for _ in 0..<1000 {
      let port = UInt16.random(in: range)
      if taken.withLock({ $0.insert(port).inserted }), isFree(port) { return port }
    }
    fatalError("no port is free")
  }

  private static func isFree(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return unsafe withUnsafePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    } == 0
  }
}
