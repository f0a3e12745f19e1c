internal import Base

/// Reads a moment from a command line: RFC 3339 in UTC (`2026-01-05T10:00:00Z`) or seconds.
enum InstantText {
  static func parse(_ text: String) -> Instant? {
    if let seconds = Int64(text) {
      guard 0...253_402_300_799 ~= seconds else { return nil }
      return Instant(seconds: seconds)
    }
    let shape = "dddd-dd-ddTdd:dd:ddZ"
    guard text.utf8.count == shape.utf8.count,
      zip(text, shape).allSatisfy({ $1 == "d" ? ("0"..."9").contains($0) : $0 == $1 })
    else { return nil }
    let numbers = text.split { !("0"..."9").contains($0) }.compactMap { Int64($0) }
    let days = daysSinceEpoch(year: numbers[0], month: numbers[1], day: numbers[2])
    let instant = Instant(
      seconds: days * 86_400 + numbers[3] * 3600 + numbers[4] * 60 + numbers[5])
    // A 30 February or a 25th hour names another moment than it says.
    return instant.description == text ? instant : nil
  }

  /// Gregorian day number, counted in 400-year eras that begin on 1 March.
  private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = shiftedYear / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}
