internal import Base

extension Instant {
  /// The same day and time so many months later, or the last day of a month too short for it.
  ///
  /// Count from the first period's start, not the last one's: 31 January, 28 February, 31 March.
  func addingMonths(_ count: Int64) -> Instant {
    let day = Self.floorDivide(seconds, 86_400)
    let civil = Self.civil(day)
    let month = civil.year * 12 + civil.month - 1 + count
    let first = Self.day(year: Self.floorDivide(month, 12), month: month % 12 + 1, day: 1)
    let next = Self.day(
      year: Self.floorDivide(month + 1, 12), month: (month + 1) % 12 + 1, day: 1)
    let target = first + min(civil.day, next - first) - 1
    return self + .days(target - day)
  }

  /// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
  var httpDate: String {
    let day = Self.floorDivide(seconds, 86_400)
    let civil = Self.civil(day)
    let months = "JanFebMarAprMayJunJulAugSepOctNovDec"
    let days = "ThuFriSatSunMonTueWed"
    func name(_ text: String, _ index: Int64) -> Substring {
      text.dropFirst(3 * Int(index)).prefix(3)
    }
    func padded(_ number: Int64) -> String { (number < 10 ? "0" : "") + String(number) }
    let second = seconds - day * 86_400
    let time = [second / 3600, second / 60 % 60, second % 60].map(padded).joined(separator: ":")
    return "\(name(days, day % 7)), \(padded(civil.day)) \(name(months, civil.month - 1)) "
      + "\(civil.year) \(time) GMT"
  }

  private static func floorDivide(_ a: Int64, _ b: Int64) -> Int64 {
    a >= 0 ? a / b : -((b - 1 - a) / b)
  }

  /// Day number of a Gregorian date, counted in 400-year eras that begin on 1 March.
  private static func day(year: Int64, month: Int64, day: Int64) -> Int64 {
    let y = month <= 2 ? year - 1 : year
    let era = floorDivide(y, 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let yearOfEra = y - era * 400
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
      - 719_468
  }

  private static func civil(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let z = day + 719_468
    let era = floorDivide(z, 146_097)
    let dayOfEra = z - era * 146_097
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
