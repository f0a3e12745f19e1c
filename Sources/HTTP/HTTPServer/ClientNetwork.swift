/// What counts as one client where clients are told apart by their addresses.
package enum ClientNetwork {
  /// An IPv4 address itself, and of an IPv6 address the network of 64 bits, which is one customer's
  /// (RFC 6177). What is no address counts as itself.
  package static func of(_ address: String) -> String {
    guard let parsed = IPAddress(address), !parsed.isIPv4 else { return address }
    return parsed.masked(64).hexText
  }

  /// Whether the address is this machine's own.
  package static func isLocal(_ address: String) -> Bool {
    AddressRange("127.0.0.0/8")?.contains(address) == true || address == "::1"
  }
}
