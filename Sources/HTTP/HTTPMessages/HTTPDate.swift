package import Base

extension Instant {
  /// Reads an IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7), and only that.
  ///
  /// The weekday must fit the date. A leap second counts as the second after it.
  package init?(httpDate text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 29, bytes[3...4].elementsEqual(", ".utf8),
      bytes[7] == UInt8(ascii: " "), bytes[11] == UInt8(ascii: " "),
      bytes[16] == UInt8(ascii: " "), bytes[19] == UInt8(ascii: ":"),
      bytes[22] == UInt8(ascii: ":"), bytes[25...].elementsEqual(" GMT".utf8),
      let weekday = Self.weekdays.firstIndex(where: { bytes[0..<3].elementsEqual($0.utf8) }),
      let month = Self.months.firstIndex(where: { bytes[8..<11].elementsEqual($0.utf8) }),
      let day = Self.number(bytes[5..<7]), let year = Self.number(bytes[12..<16]),
      let hour = Self.number(bytes[17..<19]), let minute = Self.number(bytes[20..<22]),
      let second = Self.number(bytes[23..<25]),
      year >= 1, hour < 24, minute < 60, second <= 60
    else { return nil }
    let date = CivilDate(year: year, month: Int64(month) + 1, day: day)
    guard 1...date.monthLength ~= day else { return nil }
    let days = date.daysSinceEpoch
    // 0001-01-01, day -719,162, was a Monday.
    guard Int((days + 719_162) % 7) == weekday else { return nil }
    self.init(seconds: days * 86_400 + hour * 3600 + minute * 60 + second)
  }

  /// The same form, written.
  package var httpDateText: String {
    let parts = Instant(seconds: seconds).description.split { "-T:Z".contains($0) }
    let month = Self.months[(Int(parts[1]) ?? 1) - 1]
    // 1970-01-01 was a Thursday.
    let weekday = Self.weekdays[Int((seconds / 86_400 + 3) % 7)]
    return "\(weekday), \(parts[2]) \(month) \(parts[0]) \(parts[3]):\(parts[4]):\(parts[5]) GMT"
  }

  private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    var number: Int64 = 0
    for digit in digits {
      guard 0x30...0x39 ~= digit else { return nil }
      number = number * 10 + Int64(digit - 0x30)
    }
    return number
  }
}
