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

  /// Accepts either case. Nil if a character is not a digit or the number of digits is odd.
  package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    // Copied into an array: through a generic collection each character costs 100 times as much.
    let characters = Array(text)
    guard characters.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(characters.count / 2)
    for index in stride(from: 0, to: characters.count, by: 2) {
      guard let high = value(of: characters[index]), let low = value(of: characters[index + 1])
      else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  package static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)) }

  /// The value of a digit in either case; nil if it is none.
  package static func value(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// Percent-encoding of a part of a URL (RFC 3986, section 2).
package enum PercentEncoding {
  /// Encodes everything but unreserved characters.
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

  /// Decodes as far as something is encoded. Nil if the result is no text.
  package static func decode(_ bytes: [UInt8]) -> String? {
    var (decoded, index) = ([UInt8](), 0)
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
        let byte = Hex.decode(bytes[(index + 1)...(index + 2)])
      {
        decoded += byte
        index += 3
      } else {
        decoded.append(bytes[index])
        index += 1
      }
    }
    guard !decoded.contains(0) else { return nil }
    return String(validating: decoded, as: UTF8.self)
  }
}

/// Base64 (RFC 4648). Decoding is strict: padding as the alphabet requires, no stray bits, no white space.
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
    let characters = Array(text)
    var count = characters.count
    if pads {
      guard count.isMultiple(of: 4) else { return nil }
      while count > characters.count - 2, count > 0, characters[count - 1] == UInt8(ascii: "=") {
        count -= 1
      }
    }
    guard count % 4 != 1 else { return nil }
    var isValid = false
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count / 4 * 3 + 2) { output, written in
      unsafe characters.withUnsafeBufferPointer { characters in
        unsafe values.withUnsafeBufferPointer { values in
          let text = unsafe UnsafeBufferPointer(rebasing: characters[..<count])
          isValid = unsafe Self.decode(text, values, into: output, &written)
        }
      }
    }
    return isValid ? bytes : nil
  }

  /// Decodes four characters at a time: an App Store notification has 18,000 of them.
  private static func decode(
    _ text: UnsafeBufferPointer<UInt8>, _ values: UnsafeBufferPointer<UInt8>,
    into output: UnsafeMutableBufferPointer<UInt8>, _ written: inout Int
  ) -> Bool {
    var index = 0
    var doubt: UInt8 = 0
    while index + 4 <= text.count {
      let a = unsafe values[Int(text[index])]
      let b = unsafe values[Int(text[index + 1])]
      let c = unsafe values[Int(text[index + 2])]
      let d = unsafe values[Int(text[index + 3])]
      doubt |= a | b | c | d
      unsafe output[written] = a << 2 | b >> 4
      unsafe output[written + 1] = b << 4 | c >> 2
      unsafe output[written + 2] = c << 6 | d
      written += 3
      index += 4
    }
    // Valid values have six bits; `invalid` has more.
    guard doubt < 64 else { return false }
    guard index < text.count else { return true }
    let a = unsafe values[Int(text[index])]
    let b = unsafe values[Int(text[index + 1])]
    let c = unsafe index + 2 < text.count ? values[Int(text[index + 2])] : 0
    guard a | b | c < 64 else { return false }
    unsafe output[written] = a << 2 | b >> 4
    written += 1
    guard index + 2 < text.count else { return b & 15 == 0 }
    unsafe output[written] = b << 4 | c >> 2
    written += 1
    return c & 3 == 0
  }

  package func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }

  /// The number of consecutive letters of the alphabet from `start` on.
  package func letterCount(of text: [UInt8], from start: Int) -> Int {
    unsafe text.withUnsafeBufferPointer { text in
      unsafe values.withUnsafeBufferPointer { values in
        var end = start
        while end < text.count, unsafe values[Int(text[end])] < 64 { end += 1 }
        return end - start
      }
    }
  }
}
