/// Hexadecimal, two digits a byte.
package enum Hex {
  private static let digits = Array("0123456789abcdef".utf8)

  /// Lower-case digits.
  package static func encode(_ bytes: some Collection<UInt8>) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads either case; nil where a character is no digit or one is left over.
  package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 2)
    var high: UInt8?
    for character in text {
      guard let digit = value(of: character) else { return nil }
      if let first = high {
        bytes.append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    return bytes
  }

  package static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)) }

  private static func value(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// Everything but unreserved characters in percent form (RFC 3986, section 2), for a part of a URL.
package enum PercentEncoding {
  package static func encode(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default: result += "%" + Hex.encode([byte]).uppercased()
      }
    }
    return result
  }
}

/// Base64 (RFC 4648). Decoding is strict: padding as the alphabet demands, no stray bits, no space.
package struct Base64: Sendable {
  private let alphabet: [UInt8]
  private let values: [UInt8]
  private let pads: Bool

  /// Section 4: `+`, `/`, with padding.
  package static let standard = Base64("+", "/", pads: true)
  /// Section 5: `-`, `_`, without padding.
  package static let url = Base64("-", "_", pads: false)

  private static let invalid: UInt8 = 0xFF

  private init(_ c62: Character, _ c63: Character, pads: Bool) {
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    alphabet = Array((letters + String(c62) + String(c63)).utf8)
    var values = [UInt8](repeating: Self.invalid, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    self.values = values
    self.pads = pads
  }

  package func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let count = min(3, bytes.count - index)
      var group = UInt32(bytes[index]) << 16
      if count > 1 { group |= UInt32(bytes[index + 1]) << 8 }
      if count > 2 { group |= UInt32(bytes[index + 2]) }
      for place in 0...count {
        text.append(alphabet[Int(group >> UInt32(18 - 6 * place)) & 63])
      }
      if pads { text.append(contentsOf: repeatElement(UInt8(ascii: "="), count: 3 - count)) }
      index += 3
    }
    return String(decoding: text, as: UTF8.self)
  }

  package func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    var characters = Array(text)
    if pads {
      guard characters.count.isMultiple(of: 4) else { return nil }
      var padding = 0
      while padding < 2, characters.last == UInt8(ascii: "=") {
        characters.removeLast()
        padding += 1
      }
      guard (characters.count + padding).isMultiple(of: 4) else { return nil }
    }
    let rest = characters.count % 4
    guard rest != 1 else { return nil }
    characters += repeatElement(alphabet[0], count: rest == 0 ? 0 : 4 - rest)
    guard var bytes = decode(groups: characters) else { return nil }
    // A text has one form only: what its last letter encodes beyond the last byte is zero.
    for _ in 0..<(rest == 0 ? 0 : 4 - rest) {
      guard bytes.popLast() == 0 else { return nil }
    }
    return bytes
  }

  /// Four letters each, for three bytes; nil where one is none of the alphabet.
  private func decode(groups letters: [UInt8]) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: letters.count / 4 * 3)
    var seen: UInt32 = 0
    for group in 0..<(letters.count / 4) {
      let first = UInt32(values[Int(letters[group * 4])])
      let second = UInt32(values[Int(letters[group * 4 + 1])])
      let third = UInt32(values[Int(letters[group * 4 + 2])])
      let fourth = UInt32(values[Int(letters[group * 4 + 3])])
      seen |= first | second | third | fourth
      let bits = first << 18 | second << 12 | third << 6 | fourth
      bytes[group * 3] = UInt8(truncatingIfNeeded: bits >> 16)
      bytes[group * 3 + 1] = UInt8(truncatingIfNeeded: bits >> 8)
      bytes[group * 3 + 2] = UInt8(truncatingIfNeeded: bits)
    }
    return seen < 64 ? bytes : nil
  }

  package func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }

  /// How many letters of the alphabet follow one another from `start` on.
  package func letterCount(of text: [UInt8], from start: Int) -> Int {
    var end = start
    while end < text.count, values[Int(text[end])] != Self.invalid { end += 1 }
    return end - start
  }
}
