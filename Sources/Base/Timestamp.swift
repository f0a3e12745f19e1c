extension Instant {
  /// Reads RFC 3339 in UTC (`Z`) or with an offset from it, as other systems may write it.
  package init?(foreign text: String) {
    let bytes = Array(text.utf8)
    let offset = Array(bytes.suffix(6))
    guard bytes.last != UInt8(ascii: "Z"), offset.count == 6 else {
      self.init(rfc3339: text)
      return
    }
    let (sign, digits) = (offset[0], [1, 2, 4, 5].map { offset[$0] })
    guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
      offset[3] == UInt8(ascii: ":"), digits.allSatisfy(Self.isDigit),
      let local = Instant(rfc3339: String(decoding: bytes.dropLast(6), as: UTF8.self) + "Z")
    else { return nil }
    let (hours, minutes) = (Self.value(digits[..<2]), Self.value(digits[2...]))
    guard hours < 24, minutes < 60 else { return nil }
    let span = Span.minutes(hours * 60 + minutes)
    self = sign == UInt8(ascii: "+") ? local - span : local + span
  }

  /// Reads RFC 3339 in UTC (`Z`), with up to nine digits of a second, of which three are used.
  package init?(rfc3339 text: String) {
    let bytes = Array(text.utf8)
    let shape = Array("dddd-dd-ddTdd:dd:dd".utf8)
    guard bytes.count > shape.count, bytes.last == UInt8(ascii: "Z") else { return nil }
    for (byte, expected) in zip(bytes, shape) {
      guard expected == UInt8(ascii: "d") ? Self.isDigit(byte) : byte == expected else {
        return nil
      }
    }
    guard let fraction = Self.fraction(bytes[shape.count..<(bytes.count - 1)]) else { return nil }
    func number(_ from: Int, _ count: Int) -> Int64 { Self.value(bytes[from..<(from + count)]) }
    let (year, month, day) = (number(0, 4), number(5, 2), number(8, 2))
    let (hour, minute, second) = (number(11, 2), number(14, 2), number(17, 2))
    let days = CivilDate(year: year, month: month, day: day).daysSinceEpoch
    let instant = Instant(seconds: days * 86_400 + hour * 3600 + minute * 60 + second)
    // A 30 February or a 25th hour gives a different moment, with a different text.
    guard instant.description == String(decoding: bytes[..<shape.count], as: UTF8.self) + "Z" else {
      return nil
    }
    self = instant + .milliseconds(fraction)
  }

  private static func fraction(_ fraction: ArraySlice<UInt8>) -> Int64? {
    guard let first = fraction.first else { return 0 }
    let digits = fraction.dropFirst()
    guard first == UInt8(ascii: "."), (1...9).contains(digits.count), digits.allSatisfy(isDigit)
    else { return nil }
    return value((digits + Array("00".utf8)).prefix(3))
  }

  private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

  private static func value(_ digits: ArraySlice<UInt8>) -> Int64 {
    digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }
}
