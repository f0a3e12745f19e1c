import Base
import Report
import Testing
import Tiers

struct MonthTests {
  @Test func `a month is told by its year and number, and begins and ends at midnight in UTC`()
    throws
  {
    let month = try #require(Month("2026-12"))
    #expect(month.description == "2026-12")
    #expect(month.title == "December 2026")
    #expect(month.start.description == "2026-12-01T00:00:00Z")
    #expect(month.end.description == "2027-01-01T00:00:00Z")
    #expect(month.adding(-12).description == "2025-12")
    #expect(month.adding(2).description == "2027-02")
    #expect(Month(of: month.start) == month)
    #expect(Month(of: month.end - .milliseconds(1)) == month)
    #expect(Month(of: month.end) == month.adding(1))
  }

  @Test(arguments: [
    "2026-13", "2026-00", "2026-1", "26-10", "2026/10", "october", "2026-10-01", "",
  ])
  func `what is no month is none`(text: String) {
    #expect(Month(text) == nil)
  }

  @Test(arguments: [
    ("9.99", "USD", "9.99"), ("1200", "JPY", "1200"), ("0.001", "KWD", "0.001"),
    ("-2.50", "EUR", "-2.50"), ("0.000000000001", "XMR", "0.000000000001"),
  ])
  func `a sum of one amount is that amount`(amount: String, currency: String, shown: String) throws
  {
    let sum = try #require(MoneySum(Money(amount: amount, currency: currency)))
    #expect(sum.money(in: currency).description == "\(shown) \(currency)")
    #expect((sum + sum - sum) == sum)
    #expect((sum - sum).isZero)
  }

  @Test func `sums are exact`() throws {
    var sum = MoneySum.zero
    for _ in 0..<1000 { sum += try #require(MoneySum(Money(amount: "0.10", currency: "USD"))) }
    #expect(sum.money(in: "USD").amount == "100.00")
  }
}
