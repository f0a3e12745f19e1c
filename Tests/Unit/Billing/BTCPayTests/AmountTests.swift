import BTCPay
import SeededRandom
import Testing

struct AmountTests {
  @Test(arguments: [
    ("0", "0"), ("0.0", "0"), ("00", "0"), ("49", "49"), ("49.00", "49"), ("049.10", "49.1"),
    ("0.0008", "0.0008"), ("1234567890123456789012345678.5", "1234567890123456789012345678.5"),
  ])
  func `an amount has one text`(text: String, canonical: String) throws {
    let amount = try #require(BTCPayAmount(text))
    #expect(amount.description == canonical)
    #expect(amount == BTCPayAmount(canonical))
  }

  @Test(arguments: [
    "", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "1.2.3", " 1", "1 ", "NaN", "٣",
    String(repeating: "9", count: 41),
  ])
  func `what is no plain decimal is no amount`(text: String) {
    #expect(BTCPayAmount(text) == nil)
  }

  @Test(arguments: [
    (Int64(300), 2, "3"), (5, 2, "0.05"), (0, 2, "0"), (12345, 0, "12345"), (1, 8, "0.00000001"),
    (2_999_000_000_000, 12, "2.999"), (-5, 2, "0"),
  ])
  func `a price of the catalogue is an amount`(units: Int64, exponent: Int, text: String) {
    #expect(BTCPayAmount(minorUnits: units, exponent: exponent).description == text)
  }

  @Test func `amounts are in the order of their numbers`() throws {
    let ascending = [
      "0", "0.00000001", "0.049", "0.05", "0.5", "1", "2.99", "2.999", "3", "10", "49",
    ]
    .compactMap { BTCPayAmount($0) }
    for (i, a) in ascending.enumerated() {
      for (j, b) in ascending.enumerated() { #expect((a < b) == (i < j)) }
    }
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "AmountTests.order"))
    for _ in 0..<2000 {
      let (a, b) = (
        Int64.random(in: 0...200_000, using: &random), Int64.random(in: 0...200_000, using: &random)
      )
      let exponent = Int.random(in: 0...6, using: &random)
      let (x, y) = (
        BTCPayAmount(minorUnits: a, exponent: exponent),
        BTCPayAmount(minorUnits: b, exponent: exponent)
      )
      #expect((x < y) == (a < b))
      #expect((x == y) == (a == b))
    }
  }
}
