import Base
import HTTPMessages
import ProviderAPI
import SeededRandom
import Testing

@Suite struct HTTPDateTests {
  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
    ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
    ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
  ])
  func `a date in the fixed form is read`(_ text: String, _ seconds: Int64) {
    #expect(Instant(httpDate: text) == Instant(seconds: seconds))
  }

  @Test(arguments: [
    "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
    "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
    "Thu, 31 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 1995 08:49:37 GMT",
    " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
    "Sun, 06 Nov -994 08:49:37 GMT", "Sun, 06 Nov 1994 +8:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:3é GMT",
  ])
  func `any other form is none`(_ text: String) {
    #expect(Instant(httpDate: text) == nil)
  }

  @Test func `whatever day is written, the same day is read`() {
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "http date"))
    for _ in 0..<2_000 {
      let instant = Instant(seconds: Int64.random(in: 0..<32_503_680_000, using: &random))
      let text = Array(instant.description)
      let month = Int(String(text[5...6])).map { months[$0 - 1] } ?? ""
      let weekday = weekdays[Int(instant.seconds / 86_400 % 7)]
      let date =
        "\(weekday), \(String(text[8...9])) \(month) \(String(text[0...3])) "
        + "\(String(text[11...18])) GMT"
      #expect(Instant(httpDate: date) == instant)
    }
  }

  @Test(arguments: [
    ("120", Instant.Span.seconds(120)), ("0", .seconds(0)),
    ("Sun, 06 Nov 1994 08:51:37 GMT", .seconds(120)),
    ("Sun, 06 Nov 1994 08:00:00 GMT", .seconds(0)), ("784111787500", .milliseconds(10_500)),
    ("99999999999", .seconds(99_999_999_999)), ("100000000000", .seconds(0)),
    ("-1", nil), ("1.5", nil), ("soon", nil), ("99999999999999999999", nil), ("", nil),
  ])
  func `a wait is seconds, a date or milliseconds since 1970`(
    _ text: String, _ span: Instant.Span?
  ) {
    #expect(Self.reply(text, date: "Sun, 06 Nov 1994 08:49:37 GMT").retryAfter == span)
  }

  @Test(arguments: ["Sun, 06 Nov 1994 08:51:37 GMT", "784111787500"])
  func `a moment to wait for is nothing without the provider's clock`(_ text: String) {
    #expect(Self.reply(text, date: "yesterday").retryAfter == nil)
  }

  private static func reply(_ retryAfter: String, date: String) -> APIReply {
    APIReply(
      status: 429, headers: Headers([("Retry-After", retryAfter), ("Date", date)]), body: [],
      elapsed: .seconds(0))
  }
}
