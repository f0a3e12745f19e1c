package import Base
import JSON

/// One base plan of one subscription product at Google Play.
package struct GooglePlan: Hashable, Sendable {
  package let productID: String
  package let basePlanID: String
  package let price: GoogleMoney
  package let period: GooglePeriod
  package let isPrepaid: Bool
  /// How long access is kept after a declined renewal, before the hold: 0 or at least 3.
  package let graceDays: Int64

  package init(
    productID: String, basePlanID: String, price: GoogleMoney, period: GooglePeriod,
    isPrepaid: Bool = false, graceDays: Int64 = 7
  ) {
    self.productID = productID
    self.basePlanID = basePlanID
    self.price = price
    self.period = period
    self.isPrepaid = isPrepaid
    self.graceDays = graceDays
  }
}

/// An amount without tax, as Google writes it.
package struct GoogleMoney: Hashable, Sendable {
  package let cents: Int64
  package let currency: String

  package init(cents: Int64, currency: String = "USD") {
    self.cents = cents
    self.currency = currency
  }

  /// Members that are zero are left out, as proto3 JSON does.
  var json: JSONValue {
    var members = [JSONValue.Member("currencyCode", .string(currency))]
    if cents / 100 != 0 { members.append(.init("units", .string(String(cents / 100)))) }
    if cents % 100 != 0 { members.append(.init("nanos", .integer(cents % 100 * 10_000_000))) }
    return .object(members)
  }
}

/// The length of a billing period. Months are calendar months, clipped to the month's last day.
package enum GooglePeriod: Hashable, Sendable {
  case weeks(Int64)
  case months(Int64)

  package func end(from start: Instant) -> Instant {
    switch self {
    case .weeks(let count): start + .days(7 * count)
    case .months(let count): start.adding(months: count)
    }
  }

  /// The period's length for a licence tester (Google's developers' blog, 2018).
  var testSpan: Instant.Span {
    switch self {
    case .weeks: .minutes(5)
    case .months(let count):
      count == 1 ? .minutes(5) : count <= 3 ? .minutes(10) : .minutes(count <= 6 ? 15 : 30)
    }
  }
}

/// The periods of time in Google's rules; a licence tester's are shorter.
struct GoogleTerms {
  let isTest: Bool

  func end(_ period: GooglePeriod, from start: Instant) -> Instant {
    isTest ? start + period.testSpan : period.end(from: start)
  }

  func trial(days: Int64) -> Instant.Span { isTest ? .minutes(3) : .days(days) }

  /// How long a declined renewal is retried without a notification or a change of state.
  var silence: Instant.Span { isTest ? .minutes(1) : .hours(24) }

  func grace(_ plan: GooglePlan) -> Instant.Span {
    plan.graceDays == 0 ? .days(0) : isTest ? .minutes(5) : .days(plan.graceDays)
  }

  /// From the declined renewal to the end of the hold, however much of it was grace.
  func recovery(_ plan: GooglePlan) -> Instant.Span {
    isTest ? grace(plan) + .minutes(10) : .days(60)
  }

  func acknowledgement(_ plan: GooglePlan, from start: Instant) -> Instant.Span {
    if isTest { return .minutes(5) }
    guard plan.isPrepaid, case .weeks = plan.period else { return .days(3) }
    let whole = plan.period.end(from: start) - start
    return whole < .days(7) ? .milliseconds(whole.milliseconds / 2) : .days(3)
  }

  static let renewalsOfTestMax = 6
  /// From the end of an unpaid hold, reported as a cancellation, to the expiry.
  static let cancelToExpiry = Instant.Span.minutes(10)
  /// How long a token can be read after its purchase expired.
  static let retention = Instant.Span.days(60)
}

extension Instant.Span {
  static func + (a: Instant.Span, b: Instant.Span) -> Instant.Span {
    .milliseconds(a.milliseconds + b.milliseconds)
  }
}

extension Instant {
  /// The same day and time `months` later, or the month's last day if there is no such day.
  package func adding(months: Int64) -> Instant {
    let text = Array(description.utf8)
    func number(_ range: Range<Int>) -> Int64 {
      text[range].reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }
    let count = number(0..<4) * 12 + number(5..<7) - 1 + months
    let (year, month) = (count / 12, count % 12 + 1)
    let day = min(number(8..<10), Self.length(ofMonth: month, in: year))
    let time = seconds - Self.dayNumber(number(0..<4), number(5..<7), number(8..<10)) * 86_400
    let fraction = milliseconds - seconds * 1000
    return Instant(
      milliseconds: (Self.dayNumber(year, month, day) * 86_400 + time) * 1000 + fraction)
  }

  private static func length(ofMonth month: Int64, in year: Int64) -> Int64 {
    let next = month == 12 ? (year + 1, 1) : (year, month + 1)
    return dayNumber(next.0, next.1, 1) - dayNumber(year, month, 1)
  }

  /// Days since 1970-01-01 of a Gregorian date, with years beginning in March.
  private static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let y = month <= 2 ? year - 1 : year
    let monthFromMarch = (month + 9) % 12
    return y * 365 + y / 4 - y / 100 + y / 400 + (monthFromMarch * 153 + 2) / 5 + day - 1 - 719_468
  }
}
