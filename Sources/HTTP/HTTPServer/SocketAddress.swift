import Glibc

/// An address to listen at: an IP literal and a port, as in `127.0.0.1:8080`, `[::1]:8080` or `:8080`.
package struct SocketAddress: Hashable, Sendable {
  /// `127.0.0.1` or `::1`, without brackets.
  package let host: String
  /// 0 lets the system choose.
  package let port: UInt16

  /// Nil unless the text is an IP literal (or `localhost`, which means 127.0.0.1) and a port.
  ///
  /// Without a host it means every IPv4 address. Names are never looked up.
  package init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":") else { return nil }
    let digits = text[text.index(after: colon)...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let port = UInt16(digits)
    else { return nil }
    var host = String(text[..<colon])
    if host.isEmpty { host = "0.0.0.0" }
    if host == "localhost" { host = "127.0.0.1" }
    if host.hasPrefix("[") || host.hasSuffix("]") {
      guard host.hasPrefix("["), host.hasSuffix("]") else { return nil }
      host = String(host.dropFirst().dropLast())
      guard host.contains(":") else { return nil }
    } else if host.contains(":") {
      return nil
    }
    self.init(host: host, port: port)
  }

  /// Nil unless the host is an IP literal.
  package init?(host: String, port: UInt16) {
    guard IPAddress(host) != nil else { return nil }
    self.host = host
    self.port = port
  }
}

extension SocketAddress: CustomStringConvertible {
  package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

extension SocketAddress {
  /// The address that a socket is bound to; nil if it is not an IP address and port.
  init?(of descriptor: Int32) {
    var storage = sockaddr_storage()
    var byteCount = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let code = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe getsockname(descriptor, pointer, &byteCount)
      }
    }
    guard code == 0, [AF_INET, AF_INET6].contains(Int32(storage.ss_family)) else { return nil }
    // The port is at the same place in both families.
    let port = unsafe withUnsafeBytes(of: &storage) { bytes in
      unsafe UInt16(bytes[2]) << 8 | UInt16(bytes[3])
    }
    self.init(host: addressText(&storage), port: port)
  }

  /// Whether both are the same address and port, however their texts spell it.
  func isSame(as other: SocketAddress) -> Bool {
    port == other.port && IPAddress(host) == IPAddress(other.host)
  }

  /// A socket of the address's family; -1 if the system has none to give.
  func makeOwnedSocket(_ flags: Int32 = 0) -> Int32 {
    socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | flags, 0)
  }

  private var family: Int32 { host.contains(":") ? AF_INET6 : AF_INET }

  /// Calls `body` with the address in the form that `bind` and `connect` take.
  func withName(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    if family == AF_INET6 {
      var name = sockaddr_in6()
      name.sin6_family = sa_family_t(AF_INET6)
      name.sin6_port = port.bigEndian
      unsafe inet_pton(AF_INET6, host, &name.sin6_addr)
      return unsafe Self.with(&name, body)
    }
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    unsafe inet_pton(AF_INET, host, &name.sin_addr)
    return unsafe Self.with(&name, body)
  }

  private static func with<Name>(
    _ name: inout Name, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    unsafe withUnsafePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe body(pointer, socklen_t(MemoryLayout<Name>.size))
      }
    }
  }
}
