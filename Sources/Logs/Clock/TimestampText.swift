import Base

/// The text of a timestamp, byte by byte: a request has thousands of them.
enum TimestampText {
  /// `d` is a decimal digit, `h` an upper-case hexadecimal one, `n` a letter or digit of the node.
  private static let shape = Array("dddd-dd-ddTdd:dd:dd.dddZ-hhhh-nnnnnnnnnnnnnnnn".utf8)
  private static let nodeStart = 30

  static func isNode(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"):
      true
    default: false
    }
  }

  static func parse(
    _ text: [UInt8]
  ) -> (milliseconds: Int64, counter: UInt16, node: ArraySlice<UInt8>)? {
    guard text.count == shape.count else { return nil }
    for (byte, expected) in zip(text, shape) {
      let fits =
        switch expected {
        case UInt8(ascii: "d"): 0x30...0x39 ~= byte
        case UInt8(ascii: "h"): 0x30...0x39 ~= byte || 0x41...0x46 ~= byte
        case UInt8(ascii: "n"): isNode(byte)
        default: byte == expected
        }
      guard fits else { return nil }
    }
    func number(_ from: Int, _ count: Int) -> Int64 {
      text[from..<(from + count)].reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }
    let (year, month, day) = (number(0, 4), number(5, 2), number(8, 2))
    let (hour, minute, second) = (number(11, 2), number(14, 2), number(17, 2))
    let date = CivilDate(year: year, month: month, day: day)
    guard year >= 1970, 1...12 ~= month, 1...date.monthLength ~= day, hour < 24, minute < 60,
      second < 60
    else { return nil }
    let seconds = date.daysSinceEpoch * 86_400 + hour * 3600 + minute * 60 + second
    let counter = text[25..<29].reduce(UInt16(0)) {
      $0 << 4 | UInt16($1 < 0x40 ? $1 - 0x30 : $1 - 0x37)
    }
    return (seconds * 1000 + number(20, 3), counter, text[nodeStart...])
  }

  /// The text up to the node, with room for that. `milliseconds` must be before the year 10000.
  static func withoutNode(milliseconds: Int64, counter: UInt16) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(shape.count)
    text += shape[..<nodeStart]
    func put(_ number: Int64, at end: Int, _ count: Int) {
      var rest = number
      for index in stride(from: end - 1, to: end - 1 - count, by: -1) {
        text[index] = 0x30 + UInt8(rest % 10)
        rest /= 10
      }
    }
    let (seconds, dayCount) = (milliseconds / 1000, milliseconds / 86_400_000)
    let date = CivilDate(daysSinceEpoch: dayCount)
    put(date.year, at: 4, 4)
    put(date.month, at: 7, 2)
    put(date.day, at: 10, 2)
    put(seconds / 3600 % 24, at: 13, 2)
    put(seconds / 60 % 60, at: 16, 2)
    put(seconds % 60, at: 19, 2)
    put(milliseconds % 1000, at: 23, 3)
    for index in 0..<4 {
      let digit = UInt8(counter >> (12 - 4 * index) & 15)
      text[25 + index] = digit < 10 ? 0x30 + digit : 0x37 + digit
    }
    return text
  }
}
