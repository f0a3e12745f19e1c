/// A date of the Gregorian calendar, which is extended to the time before it.
package struct CivilDate: Sendable {
  package let year: Int64
  /// From 1 to 12.
  package let month: Int64
  /// From 1 on.
  package let day: Int64

  /// `month` must be from 1 to 12. A day beyond the month's last counts on into the next month.
  package init(year: Int64, month: Int64, day: Int64) {
    (self.year, self.month, self.day) = (year, month, day)
  }

  // Years are counted from 1 March in eras of 400 years, so that a leap day is the last of its year.

  package init(daysSinceEpoch days: Int64) {
    let z = days + 719_468
    let era = (z >= 0 ? z : z - 146_096) / 146_097
    let dayOfEra = z - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    month = shifted < 10 ? shifted + 3 : shifted - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    day = dayOfYear - (153 * shifted + 2) / 5 + 1
  }

  /// Days since 1970-01-01.
  package var daysSinceEpoch: Int64 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// The number of days of the date's month.
  package var monthLength: Int64 {
    let next = CivilDate(year: year + month / 12, month: month % 12 + 1, day: 1)
    return next.daysSinceEpoch - CivilDate(year: year, month: month, day: 1).daysSinceEpoch
  }
}
