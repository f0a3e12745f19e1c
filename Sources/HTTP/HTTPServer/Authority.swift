/// The value of a Host field in lower case: a host name or IP literal, perhaps with a port.
struct Authority {
  let text: String

  /// Nil if the bytes are neither. A name may have the characters of DNS and `_`.
  init?(_ bytes: [UInt8]) {
    guard !bytes.isEmpty, bytes.count <= Self.byteCountMax else { return nil }
    let text = String(decoding: bytes, as: UTF8.self).lowercased()
    var host = text.utf8[...]
    if host.first == UInt8(ascii: "[") {
      guard let end = host.firstIndex(of: UInt8(ascii: "]")),
        let address = IPAddress(String(host[host.index(after: host.startIndex)..<end]) ?? ""),
        !address.isIPv4
      else { return nil }
      guard Self.isPort(host[host.index(after: end)...]) else { return nil }
    } else {
      let end = host.firstIndex(of: UInt8(ascii: ":")) ?? host.endIndex
      guard Self.isPort(host[end...]) else { return nil }
      host = host[..<end]
      guard !host.isEmpty, host.allSatisfy(Self.isNameCharacter) else { return nil }
    }
    self.text = text
  }

  /// A DNS name's 253 characters and a port.
  private static let byteCountMax = 260

  /// Whether the text is empty, or a colon and up to five digits.
  private static func isPort(_ text: Substring.UTF8View) -> Bool {
    guard let first = text.first else { return true }
    let digits = text.dropFirst()
    return first == UInt8(ascii: ":") && (1...5).contains(digits.count)
      && digits.allSatisfy { (0x30...0x39).contains($0) }
  }

  private static func isNameCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
    default: false
    }
  }
}
