/// The unit that counts as one client when clients are distinguished by their addresses.
package enum ClientNetwork {
  /// An IPv4 address itself; for an IPv6 address its network of 64 bits, which belongs to one
  /// customer (RFC 6177). Text that is not an address counts as itself.
  package static func of(_ address: String) -> String {
    guard let parsed = IPAddress(address), !parsed.isIPv4 else { return address }
    return parsed.masked(64).hexText
  }

  /// Whether the address is this machine's own.
  package static func isLocal(_ address: String) -> Bool {
    AddressRange("127.0.0.0/8")?.contains(address) == true || address == "::1"
  }
}
