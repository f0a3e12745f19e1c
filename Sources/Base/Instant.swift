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
    Instant(milliseconds: instant.milliseconds.addingClamped(span.milliseconds))
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
    let date = CivilDate(daysSinceEpoch: daysSinceEpoch)
    return date.year * 100 + date.month
  }

  /// The same day and time `count` months later, or the month's last day if it has no such day.
  package func adding(calendarMonths count: Int64) -> Instant {
    let date = CivilDate(daysSinceEpoch: daysSinceEpoch)
    let months = date.year * 12 + date.month - 1 + count
    let first = CivilDate(year: months / 12, month: months % 12 + 1, day: 1)
    let day = first.daysSinceEpoch + min(date.day, first.monthLength) - 1
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
    let date = CivilDate(daysSinceEpoch: day)
    // In the earliest second that an instant can hold, both operations wrap and the result is right.
    let fraction = milliseconds &- seconds &* 1000
    var text =
      "\(Self.padded(date.year, 4))-\(Self.padded(date.month, 2))-\(Self.padded(date.day, 2))T"
    text += "\(Self.padded(second / 3600, 2)):\(Self.padded(second / 60 % 60, 2)):"
    text += Self.padded(second % 60, 2)
    if fraction != 0 { text += "." + Self.padded(fraction, 3) }
    return text + "Z"
  }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
