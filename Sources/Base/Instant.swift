/// A moment, in whole milliseconds since 1970-01-01T00:00:00Z; leap seconds do not exist.
package struct Instant: Hashable, Comparable, Sendable {
  package let milliseconds: Int64

  package init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Traps only beyond ±292 million years; providers' seconds are range-checked where decoded.
  package init(seconds: Int64) { self.milliseconds = seconds * 1000 }

  /// Whole seconds, rounded towards the past.
  package var seconds: Int64 {
    milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0)
  }

  package static let distantPast = Instant(milliseconds: .min)
  package static let distantFuture = Instant(milliseconds: .max)

  package static func < (a: Instant, b: Instant) -> Bool { a.milliseconds < b.milliseconds }

  /// Saturates, so that "for ever plus a day" remains for ever.
  package static func + (instant: Instant, span: Span) -> Instant {
    let (sum, overflow) = instant.milliseconds.addingReportingOverflow(span.milliseconds)
    guard overflow else { return Instant(milliseconds: sum) }
    return span.milliseconds > 0 ? .distantFuture : .distantPast
  }

  package static func - (instant: Instant, span: Span) -> Instant {
    // The most negative span cannot be negated. One millisecond less makes no difference there.
    instant + Span(milliseconds: -max(span.milliseconds, -.max))
  }

  package static func - (a: Instant, b: Instant) -> Span {
    let (difference, overflow) = a.milliseconds.subtractingReportingOverflow(b.milliseconds)
    guard overflow else { return Span(milliseconds: difference) }
    return Span(milliseconds: a > b ? .max : -.max)
  }

  /// A length of time. Its constructors name the unit, so that a number in code says it.
  package struct Span: Hashable, Comparable, Sendable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static func milliseconds(_ n: Int64) -> Span { Span(milliseconds: n) }
    package static func seconds(_ n: Int64) -> Span { Span(milliseconds: n * 1000) }
    package static func minutes(_ n: Int64) -> Span { .seconds(n * 60) }
    package static func hours(_ n: Int64) -> Span { .minutes(n * 60) }
    package static func days(_ n: Int64) -> Span { .hours(n * 24) }

    package static func < (a: Span, b: Span) -> Bool { a.milliseconds < b.milliseconds }
  }
}

extension Instant {
  /// The month in UTC, as yyyymm.
  package var month: Int64 {
    let day = Self.civil(daysSinceEpoch: daysSinceEpoch)
    return day.year * 100 + day.month
  }

  /// The same day and time `count` months later, or the month's last day if it has no such day.
  package func adding(calendarMonths count: Int64) -> Instant {
    let date = Self.civil(daysSinceEpoch: daysSinceEpoch)
    let months = date.year * 12 + date.month - 1 + count
    let (year, month) = (months / 12, months % 12 + 1)
    let first = Self.daysSinceEpoch(year, month, 1)
    let next = month == 12 ? (year + 1, Int64(1)) : (year, month + 1)
    let length = Self.daysSinceEpoch(next.0, next.1, 1) - first
    let day = first + min(date.day, length) - 1
    return self + .days(day - daysSinceEpoch)
  }

  /// Rounded towards the past.
  private var daysSinceEpoch: Int64 {
    seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
  }
}

extension Instant: CustomStringConvertible {
  /// RFC 3339 in UTC, with milliseconds only if they are not zero: `2026-11-20T21:00:57Z`.
  package var description: String {
    if self == .distantPast { return "always" }
    if self == .distantFuture { return "never" }
    let day = daysSinceEpoch
    let second = seconds - day * 86_400
    let (year, month, date) = Self.civil(daysSinceEpoch: day)
    // In the earliest second that an instant can hold, both operations wrap and the result is right.
    let fraction = milliseconds &- seconds &* 1000
    var text = "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(date, 2))T"
    text += "\(Self.padded(second / 3600, 2)):\(Self.padded(second / 60 % 60, 2)):"
    text += Self.padded(second % 60, 2)
    if fraction != 0 { text += "." + Self.padded(fraction, 3) }
    return text + "Z"
  }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  /// The day number of a Gregorian date after the year 0. Years are counted from 1 March.
  private static func daysSinceEpoch(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let y = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return y * 365 + y / 4 - y / 100 + y / 400 + dayOfYear - 719_468
  }

  /// The Gregorian date of a day number, counted in 400-year eras that begin on 1 March.
  private static func civil(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let z = daysSinceEpoch + 719_468
    let era = (z >= 0 ? z : z - 146_096) / 146_097
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
