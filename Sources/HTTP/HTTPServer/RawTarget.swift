import Base
import HTTPMessages

/// A request target as received, before libmicrohttpd unescapes it in place.
struct RawTarget {
  let text: String
  let byteCount: Int
  /// The target's address in memory, only to compare with its neighbours' places.
  let place: UInt
  /// The rule that the target breaks; nil if it is in origin form and safe to route by.
  let problem: Problem?

  init(_ bytes: [UInt8], at place: UInt) {
    byteCount = bytes.count
    self.place = place
    text = String(decoding: bytes, as: UTF8.self)
    problem = Self.rule(brokenBy: bytes).map(HeaderSection.malformed)
  }

  /// Checks RFC 9112, section 3.2.1, and refuses what a proxy and this server could read differently.
  private static func rule(brokenBy bytes: [UInt8]) -> String? {
    guard bytes.first == UInt8(ascii: "/") else {
      return "The request target must be in origin form: a path that begins with a slash."
    }
    var inPath = true
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      index += 1
      guard byte > 0x20, byte < 0x7F, byte != UInt8(ascii: "#") else {
        return "The request target may hold only printable ASCII, without space and fragment."
      }
      if byte == UInt8(ascii: "?") { inPath = false }
      guard byte == UInt8(ascii: "%") else { continue }
      guard index + 1 < bytes.count, let high = Hex.value(of: bytes[index]),
        let low = Hex.value(of: bytes[index + 1])
      else { return "Each percent sign in the target must begin an escape of two hex digits." }
      index += 2
      let value = high << 4 | low
      if value == 0 { return "The request target may not hold %00." }
      if inPath, value == UInt8(ascii: "/") {
        return "The path of the request target may not hold an encoded slash."
      }
    }
    return nil
  }
}
