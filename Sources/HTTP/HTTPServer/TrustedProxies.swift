import HTTPMessages

struct TrustedProxies: Sendable {
  private let ranges: [AddressRange]

  init(_ ranges: [AddressRange]) { self.ranges = ranges }

  func contains(_ address: String) -> Bool {
    !ranges.isEmpty && ranges.contains { $0.contains(address) }
  }

  /// The client's address and scheme.
  ///
  /// Each proxy appends the address it was called from to X-Forwarded-For. So the right-most entry that is not itself a
  /// trusted proxy is the first that no one could have forged. Entries are bytes: everything to the left of that entry
  /// comes from the client and may be anything. If that entry is not an address, the last proxy's address is used.
  func client(of peer: String, _ headers: Headers) -> (address: String, scheme: String) {
    guard contains(peer) else { return (peer, "http") }
    var address = peer
    for entry in Self.entries(headers.combined("x-forwarded-for")).reversed() {
      guard IPAddress(entry) != nil else { break }
      address = entry
      if !contains(entry) { break }
    }
    let scheme = Self.entries(headers.combined("x-forwarded-proto")).last?.lowercased()
    return (address, scheme == "https" ? "https" : "http")
  }

  /// An entry that is not UTF-8 becomes text that is not an address.
  private static func entries(_ value: [UInt8]?) -> [String] {
    (value ?? []).split(separator: UInt8(ascii: ",")).map { entry in
      let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
      return String(decoding: entry.drop(while: isSpace).prefix { !isSpace($0) }, as: UTF8.self)
    }
  }
}
