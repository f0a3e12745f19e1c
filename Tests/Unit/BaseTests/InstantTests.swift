import Base
import Testing

@Suite struct InstantTests {
  /// Checked with `date --utc --date=@…`.
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"),
      (951_868_799, "2000-02-29T23:59:59Z"), (1_709_164_800, "2024-02-29T00:00:00Z"),
      (4_107_542_399, "2100-02-28T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
      (1_767_225_599, "2025-12-31T23:59:59Z"), (1_767_225_600, "2026-01-01T00:00:00Z"),
      (-1, "1969-12-31T23:59:59Z"), (-11_644_473_600, "1601-01-01T00:00:00Z"),
      (253_402_300_799, "9999-12-31T23:59:59Z"),
    ] as [(Int64, String)])
  func `an instant is written as RFC 3339 in UTC`(seconds: Int64, text: String) {
    #expect("\(Instant(seconds: seconds))" == text)
  }

  @Test(
    arguments: [
      (1, "1970-01-01T00:00:00.001Z"), (1_050, "1970-01-01T00:00:01.050Z"),
      (-1, "1969-12-31T23:59:59.999Z"),
    ] as [(Int64, String)])
  func `milliseconds are written where there are any`(milliseconds: Int64, text: String) {
    #expect("\(Instant(milliseconds: milliseconds))" == text)
  }

  @Test func `every day of four centuries follows the one before`() {
    let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    var day: Int64 = 0
    for year in 1970..<2370 {
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      for (index, length) in lengths.enumerated() {
        let count = index == 1 && isLeap ? 29 : length
        for date in 1...count {
          let month = index + 1
          let text =
            "\(year)-\(month < 10 ? "0" : "")\(month)-\(date < 10 ? "0" : "")\(date)T00:00:00Z"
          if "\(Instant(seconds: day * 86_400))" != text {
            Issue.record("day \(day) is not \(text)")
          }
          day += 1
        }
      }
    }
  }

  @Test func `the ends of time have names`() {
    #expect("\(Instant.distantPast)" == "always")
    #expect("\(Instant.distantFuture)" == "never")
  }

  @Test func `for ever plus or minus a day stays for ever`() {
    #expect(Instant.distantFuture + .days(1) == .distantFuture)
    #expect(Instant.distantPast - .days(1) == .distantPast)
    #expect(Instant.distantPast + Instant.Span(milliseconds: .min) == .distantPast)
  }

  @Test func `the longest spans do not trap`() {
    #expect(Instant(seconds: 0) - Instant.Span(milliseconds: .min) == .distantFuture)
    #expect(Instant.distantFuture - Instant.distantPast == Instant.Span(milliseconds: .max))
    #expect(Instant.distantPast - Instant.distantFuture == Instant.Span(milliseconds: -.max))
  }

  @Test(
    arguments: [(1999, 1), (1000, 1), (0, 0), (-1, -1), (-1000, -1), (-1001, -2)]
      as [(Int64, Int64)])
  func `whole seconds are rounded towards the past`(milliseconds: Int64, seconds: Int64) {
    #expect(Instant(milliseconds: milliseconds).seconds == seconds)
  }

  @Test func `the ends of time have seconds`() {
    #expect(Instant.distantPast.seconds == -9_223_372_036_854_776)
    #expect(Instant.distantFuture.seconds == 9_223_372_036_854_775)
    #expect(!"\(Instant(milliseconds: .min + 1))".isEmpty)
  }

  @Test func `the difference of two instants leads from one to the other`() {
    let a = Instant(seconds: 1_767_225_600)
    let b = a + .hours(5)
    #expect(a + (b - a) == b)
    #expect(b - .minutes(300) == a)
    #expect(a < b)
  }

  @Test func `a month begins and ends in UTC`() {
    let december = Instant(seconds: 1_764_547_200)
    #expect(december.month == 202_512)
    #expect((december - .milliseconds(1)).month == 202_511)
    #expect((december + .days(31)).month == 202_601)
    #expect(Instant(milliseconds: -1).month == 196_912)
  }

  @Test(
    arguments: [
      ("2026-01-05T10:00:00Z", 1, "2026-02-05T10:00:00Z"),
      ("2026-01-31T23:59:59Z", 1, "2026-02-28T23:59:59Z"),
      ("2028-01-31T00:00:00Z", 1, "2028-02-29T00:00:00Z"),
      ("2026-01-31T00:00:00Z", 2, "2026-03-31T00:00:00Z"),
      ("2026-12-31T00:00:00Z", 2, "2027-02-28T00:00:00Z"),
      ("2024-02-29T06:00:00Z", 12, "2025-02-28T06:00:00Z"),
      ("2024-02-29T06:00:00Z", 48, "2028-02-29T06:00:00Z"),
      ("2099-12-31T00:00:00Z", 14, "2101-02-28T00:00:00Z"),
      ("2026-05-05T10:00:00Z", 0, "2026-05-05T10:00:00Z"),
    ] as [(String, Int64, String)])
  func `months are the calendar's, and no longer than it has days`(
    from: String, count: Int64, to: String
  ) throws {
    let start = try #require(Instant(rfc3339: from))
    #expect(start.adding(calendarMonths: count).description == to)
    #expect((start + .milliseconds(7)).adding(calendarMonths: count).milliseconds % 1000 == 7)
  }

  @Test func `a fixed clock stands still`() {
    let clock = Clock.fixed(Instant(seconds: 7))
    #expect(clock.now() == Instant(seconds: 7))
  }

  @Test func `the system's clock is past this code's making`() {
    #expect(Clock.system.now() > Instant(seconds: 1_760_000_000))
  }

  @Test func `monotonic time never goes back`() {
    var last = MonotonicTime.now()
    for _ in 0..<1000 {
      let next = MonotonicTime.now()
      #expect(next >= last)
      last = next
    }
  }

  @Test(arguments: [
    ("2026-11-25T10:00:00Z", "2026-11-25T10:00:00Z"),
    ("2026-11-25T10:00:00+00:00", "2026-11-25T10:00:00Z"),
    ("2026-11-25T10:00:00.5-07:30", "2026-11-25T17:30:00.500Z"),
    ("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00Z"),
  ])
  func `others may write an offset in place of Z`(text: String, meant: String) {
    #expect(Instant(foreign: text)?.description == meant)
  }

  @Test(arguments: [
    "2026-11-25T10:00:00", "2026-11-25T10:00:00+1:00", "2026-11-25T10:00:00+24:00",
    "2026-11-25T10:00:00+01:60", "2026-02-30T10:00:00+01:00", "+01:00", "",
    "2026-11-25T10:00:00Z+01:00",
  ])
  func `an offset that has not one meaning is no time`(text: String) {
    #expect(Instant(foreign: text) == nil)
  }
}
