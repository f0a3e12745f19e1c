import Flows
import JSON
import SeededRandom
import Testing

/// Values in a request that are refused as card numbers, and values that are not.
struct CardNumberTests {
  private func isRefused(_ body: JSONValue) throws -> Bool {
    let json = try JSON.parse(body.encoded())
    do {
      try CardNumber.refuse(in: json)
      return false
    } catch { return true }
  }

  /// A number of any length that cards have, with the right check digit, written as people write it.
  private func card(_ random: inout SeededGenerator) -> String {
    let count = Int.random(in: 13...19, using: &random)
    var digits = [4] + (2..<count).map { _ in Int.random(in: 0...9, using: &random) }
    let sum = digits.reversed().enumerated().reduce(0) { sum, place in
      let double = place.element * 2
      return sum + (place.offset % 2 == 1 ? place.element : double > 9 ? double - 9 : double)
    }
    digits.append((10 - sum % 10) % 10)
    let separator = ["", " ", "-"].randomElement(using: &random)!
    return digits.enumerated().map { index, digit in
      (index > 0 && index % 4 == 0 ? separator : "") + String(digit)
    }.joined()
  }

  @Test func `no millisecond timestamp in a return address or an id is refused`() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "timestamps"))
    for _ in 0..<2000 {
      let time = Int64.random(in: 1_500_000_000_000...2_500_000_000_000, using: &random)
      let body: JSONValue = [
        "plan": .string("plus-\(time)"), "interval": "month",
        "payment_method": .string("pm_\(time)"),
        "success_url": .string("https://app.example/done?at=\(time)"),
        "cancel_url": .string("https://app.example/\(time)"),
      ]
      #expect(try !isRefused(body), "\(time)")
    }
  }

  @Test(arguments: [
    "payment_method", "card", "number", "card_number", "cardNumber", "cc", "ccnum", "pan",
    "plan", "anything",
  ])
  func `a card number as a member's value is refused`(name: String) throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "card as \(name)"))
    for _ in 0..<200 {
      let card = card(&random)
      #expect(try isRefused(.object([.init(name, .string(card))])), "\(card)")
    }
  }

  @Test
  func `a card number beside its expiry, inside of a card, as a number and as a name is refused`()
    throws
  {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "cards in places"))
    for _ in 0..<200 {
      let card = card(&random)
      #expect(try isRefused(["payment_method": .string("\(card), 12/27")]))
      #expect(try isRefused(["card": ["details": [.string("no \(card) of mine")]]]))
      #expect(try isRefused(.object([.init(card, "x")])))
      if let integer = Int64(card) { #expect(try isRefused(["value": .integer(integer)])) }
    }
  }
}
