import BTCPay
import Base
import SeededRandom
import Subscriptions
import Testing

/// The facts about one account may arrive in any order and any number of times.
struct LawTests {
  /// One fact, as a record takes it.
  private struct Shown: Hashable {
    let id: String
    let object: BTCPayObject
    let asOf: AsOf
    let delivery: Int64
  }

  private static func record(_ shown: some Sequence<Shown>) -> BTCPayRecord {
    var record = BTCPayRecord(id: Samples.account.description)
    for one in shown {
      record.insert(one.object, id: one.id, asOf: one.asOf, delivery: one.delivery)
    }
    return record
  }

  private static func coverage(_ record: BTCPayRecord) -> Coverage {
    record.coverage(policy: .standard, catalogue: Samples.catalogue)
  }

  /// Any facts about a few invoices, true or not.
  ///
  /// A delivery holds one fact about an object, so each has its own number.
  private static func shown(_ random: inout SeededGenerator) -> [Shown] {
    let products = [
      ("premium-month", "3.00"), ("premium-year", "30.00"), ("plus-month", "10.00"),
      ("extra-month", "1.00"), ("premium-month", "2.00"), ("nothing", "3.00"),
    ]
    let states: [(BTCPayInvoice.Status, BTCPayInvoice.AdditionalStatus)] = [
      (.new, .nothing), (.processing, .nothing), (.settled, .nothing), (.settled, .paidOver),
      (.settled, .marked), (.invalid, .marked), (.expired, .paidLate),
    ]
    let count = Int.random(in: 1...9, using: &random)
    return (1...count).flatMap { number -> [Shown] in
      let id = "I\(Int.random(in: 1...4, using: &random))"
      let day = Int64.random(in: 0...60, using: &random)
      let moment = Shop.day(day)
      let delivery = Int64(number)
      if Bool.random(using: &random) {
        return [
          Shown(
            id: id, object: .settlement(BTCPaySettlement(Samples.account, at: moment)),
            asOf: BTCPaySettlement.asOf, delivery: delivery)
        ]
      }
      let (product, amount) = products.randomElement(using: &random)!
      let (status, additional) = states.randomElement(using: &random)!
      let account = Int.random(in: 0..<8, using: &random) == 0 ? Samples.other : Samples.account
      let invoice = Samples.invoice(product, account: account, amount: amount, status, additional)
      return [
        Shown(id: id, object: .invoice(invoice), asOf: .readNumber(day), delivery: delivery)
      ]
    }
  }

  @Test func `order and repetition do not matter`() {
    let seed = SeededGenerator.seed(of: "BTCPayTests.LawTests.order")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<1500 {
      let shown = Self.shown(&random)
      let record = Self.record(shown)
      let again = (shown + shown).shuffled(using: &random)
      #expect(Self.record(again) == record, "seed \(seed)")
      #expect(Self.coverage(Self.record(again)) == Self.coverage(record), "seed \(seed)")
    }
  }

  @Test func `every invoice of the price owes its months once, and nothing overlaps in a queue`() {
    let seed = SeededGenerator.seed(of: "BTCPayTests.LawTests.months")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<1000 {
      var shop = Shop()
      let count = Int.random(in: 1...8, using: &random)
      var months: Int64 = 0
      for number in 0..<count {
        let isYear = Int.random(in: 0..<4, using: &random) == 0
        months += isYear ? 12 : 1
        shop.paid(
          "I\(number)", isYear ? "premium-year" : "premium-month", isYear ? "30.00" : "3.00",
          day: Int64.random(in: 0...400, using: &random))
      }
      let intervals = shop.coverage.intervals
      #expect(Set(intervals.map(\.evidence.id)).count == count, "seed \(seed)")
      for (earlier, later) in zip(intervals, intervals.dropFirst()) {
        #expect(earlier.to <= later.from, "seed \(seed)")
      }
      let length = intervals.reduce(Int64(0)) { $0 + ($1.to - $1.from).milliseconds / 86_400_000 }
      #expect((months * 28...months * 31).contains(length), "seed \(seed)")
    }
  }

  /// A read shows an invoice's whole state, and its earliest settlement counts.
  @Test func `the last read and the first settlement are all that counts`() {
    let seed = SeededGenerator.seed(of: "BTCPayTests.LawTests.last")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<1000 {
      let shown = Self.shown(&random)
      var last: [String: Shown] = [:]
      var first: [String: Shown] = [:]
      for one in shown {
        switch one.object {
        case .invoice:
          guard let known = last[one.id] else {
            last[one.id] = one
            continue
          }
          if known.asOf.from < one.asOf.from { last[one.id] = one }
        case .settlement(let settlement):
          guard case .settlement(let known)? = first[one.id]?.object, known.at <= settlement.at
          else {
            first[one.id] = one
            continue
          }
        }
      }
      // One read may show an invoice twice with different contents; then both count.
      let moments = shown.filter { if case .invoice = $0.object { true } else { false } }
        .map { [$0.id, $0.asOf.from.description] }
      guard Set(moments).count == moments.count else { continue }
      let short = Self.record(Array(last.values) + Array(first.values))
      #expect(Self.coverage(short) == Self.coverage(Self.record(shown)), "seed \(seed)")
    }
  }
}
