/// The text of a timestamp, byte by byte: a request has thousands of them.
enum TimestampText {
  /// `d` is a decimal digit, `h` an upper-case hexadecimal one, `n` a letter or digit of the node.
  private static let shape = Array("dddd-dd-ddTdd:dd:dd.dddZ-hhhh-nnnnnnnnnnnnnnnn".utf8)

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
  ) -> (milliseconds: Int64, counter: Int64, node: ArraySlice<UInt8>)? {
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
    guard year >= 1970, 1...12 ~= month, 1...length(of: month, year) ~= day, hour < 24,
      minute < 60, second < 60
    else { return nil }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    let counter = text[25..<29].reduce(Int64(0)) {
      $0 << 4 | Int64($1 < 0x40 ? $1 - 0x30 : $1 - 0x37)
    }
    return (seconds * 1000 + number(20, 3), counter, text[30...])
  }

  /// `milliseconds` must be before the year 10000.
  static func write(
    milliseconds: Int64, counter: Int64, node: ArraySlice<UInt8>
  ) -> [UInt8] {
    var text = shape
    func put(_ number: Int64, at end: Int, _ count: Int) {
      var rest = number
      for index in stride(from: end - 1, to: end - 1 - count, by: -1) {
        text[index] = 0x30 + UInt8(rest % 10)
        rest /= 10
      }
    }
    let (seconds, dayCount) = (milliseconds / 1000, milliseconds / 86_400_000)
    let (year, month, day) = date(dayCount)
    put(year, at: 4, 4)
    put(month, at: 7, 2)
    put(day, at: 10, 2)
    put(seconds / 3600 % 24, at: 13, 2)
    put(seconds / 60 % 60, at: 16, 2)
    put(seconds % 60, at: 19, 2)
    put(milliseconds % 1000, at: 23, 3)
    for index in 0..<4 {
      let digit = UInt8(counter >> (12 - 4 * Int64(index)) & 15)
      text[25 + index] = digit < 10 ? 0x30 + digit : 0x37 + digit
    }
    text.replaceSubrange(30..., with: node)
    return text
  }

  // MARK: Dates from 1970 to 9999

  private static func isLeap(_ year: Int64) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  private static func length(of month: Int64, _ year: Int64) -> Int64 {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// The number of a day since 1970. Years are counted from 1 March.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let y = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return y * 365 + y / 4 - y / 100 + y / 400 + dayOfYear - 719_468
  }

  /// The date of a day number, in 400-year eras that begin on 1 March.
  private static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let z = days + 719_468
    let (era, dayOfEra) = (z / 146_097, z % 146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (
      yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1
    )
  }
}
