import Testing
import Tiers

struct MoneyTests {
  @Test(
    arguments: [
      (999, "eur", "9.99 EUR"), (5, "usd", "0.05 USD"), (-150, "usd", "-1.50 USD"),
      (1200, "jpy", "1200 JPY"), (0, "jpy", "0 JPY"), (1500, "kwd", "1.500 KWD"),
      (Int64.min, "jpy", "-9223372036854775808 JPY"), (2_500, "btc", "0.00002500 BTC"),
    ] as [(Int64, String, String)])
  func `an amount in minor units has its currency's digits`(
    count: Int64, currency: String, text: String
  ) {
    #expect(Money(minorUnits: count, currency: currency).description == text)
  }

  @Test func `digits beyond the currency's stay, and zeros beyond them go`() {
    #expect(Money(amount: "9.9900", currency: "EUR").description == "9.99 EUR")
    #expect(Money(amount: "9.999", currency: "EUR").description == "9.999 EUR")
    #expect(Money(amount: "49", currency: "eur").description == "49.00 EUR")
    #expect(Money(amount: "1200.0", currency: "JPY").description == "1200 JPY")
    #expect(Money(2990, exponent: 3, currency: "USD").description == "2.99 USD")
    #expect(Money(1_200_000, exponent: 3, currency: "JPY").description == "1200 JPY")
  }
}
