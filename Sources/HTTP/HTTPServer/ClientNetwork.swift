/// The unit that counts as one client when clients are distinguished by their addresses.
package enum ClientNetwork {
  /// An IPv4 address itself, or an IPv6 address's network of 64 bits, one customer's (RFC 6177). Other text is itself.
  package static func of(_ address: String) -> String {
    guard let parsed = IPAddress(address), !parsed.isIPv4 else { return address }
    return parsed.masked(64).hexText
  }

  /// Whether the address is this machine's own.
  package static func isLocal(_ address: String) -> Bool {
    loopback?.contains(address) == true || address == "::1"
  }

  private static let loopback = AddressRange("127.0.0.0/8")
}
