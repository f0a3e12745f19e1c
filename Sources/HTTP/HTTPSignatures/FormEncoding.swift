import Base

/// The encoding of web forms (https://url.spec.whatwg.org/#application/x-www-form-urlencoded).
enum FormEncoding {
  /// Nil if a percent sign is not followed by two hexadecimal digits, or the bytes are not UTF-8.
  static func decode(_ text: some Sequence<UInt8>, plusIsSpace: Bool) -> [UInt8]? {
    var bytes: [UInt8] = []
    var iterator = text.makeIterator()
    while let byte = iterator.next() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = iterator.next(), let low = iterator.next(),
          let decoded = Hex.decode([high, low])
        else { return nil }
        bytes += decoded
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self) == nil ? nil : bytes
  }

  /// Encodes all bytes except letters, digits and `*-._` as a percent sign and upper-case digits.
  static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "-"),
        UInt8(ascii: "."), UInt8(ascii: "_"):
        text.append(byte)
      default:
        text.append(UInt8(ascii: "%"))
        text += Hex.encode([byte]).uppercased().utf8
      }
    }
    return text
  }
}
