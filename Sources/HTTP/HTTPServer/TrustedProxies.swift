internal import HTTPMessages

/// Reads what proxies say of the client, as far as they are trusted.
struct TrustedProxies: Sendable {
  private let ranges: [AddressRange]

  init(_ ranges: [AddressRange]) { self.ranges = ranges }

  func contains(_ address: String) -> Bool {
    !ranges.isEmpty && ranges.contains { $0.contains(address) }
  }

  /// The client's address and scheme.
  ///
  /// Each proxy appends the address it was called from to X-Forwarded-For, so the right-most
  /// entry that is not itself a trusted proxy is the first that nobody could have forged.
  func client(of peer: String, _ headers: Headers) -> (address: String, scheme: String) {
    guard contains(peer) else { return (peer, "http") }
    var address = peer
    for entry in Self.entries(headers.text("x-forwarded-for")).reversed() {
      guard IPAddress(entry) != nil else { break }
      address = entry
      if !contains(entry) { break }
    }
    let scheme = Self.entries(headers.text("x-forwarded-proto")).last?.lowercased()
    return (address, scheme == "https" ? "https" : "http")
  }

  private static func entries(_ text: String?) -> [String] {
    (text ?? "").split(separator: ",").map { entry in
      String(entry.drop { $0 == " " }.prefix { $0 != " " })
    }
  }
}
