internal import Glibc

/// Where to listen: an IP literal and a port, as in `127.0.0.1:8080`, `[::1]:8080` or `:8080`.
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
