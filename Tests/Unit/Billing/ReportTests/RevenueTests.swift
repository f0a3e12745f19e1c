import Report
import SeededRandom
import Subscriptions
import Testing
import Tiers

struct RevenueTests {
  @Test func `what went back counts in the month in which it went, with what it was paid for`() {
    var sold = Sold()
    sold.pay("plus", 10, 41, "9.99")
    sold.reverse(0, 40, "4.00")
    let january = report(1, [sold])
    #expect(january.net("USD") == "9.99")
    let february = report(2, [sold])
    #expect(february.net("USD") == "-4.00")
    #expect(february.revenue["USD"]?.keys.map(\.plan) == ["plus"])
    #expect(february.revenue(in: "USD").refundCount == 1)
  }

  @Test
  func `a lost dispute is told apart from a refund, and what is open or came to nothing is none`() {
    var sold = Sold()
    sold.pay(10, 41, "2.99")
    sold.reverse(0, 12, "2.99", kind: .dispute)
    sold.reverse(0, 13, "1.00", kind: .dispute, state: .open)
    sold.reverse(0, 14, "1.00", state: .void)
    sold.reverse(0, 15, "1.00", kind: .revocation)
    let january = report(1, [sold])
    let revenue = january.revenue(in: "USD")
    #expect(revenue.disputeCount == 1)
    #expect(revenue.refundCount == 0)
    #expect(january.net("USD") == "0.00")
  }

  @Test func `currencies are never added up, and a yen has no parts`() {
    var (dollars, yen) = (Sold(), Sold())
    dollars.pay(10, 41, "2.99")
    yen.pay(10, 41, "450", "JPY")
    yen.pay(12, 43, "450", "JPY")
    let january = report(1, [dollars], [yen])
    #expect(january.currencies == ["JPY", "USD"])
    #expect(january.net("JPY") == "900")
    #expect(january.net("USD") == "2.99")
  }

  @Test func `what no store told the amount of is counted and in no sum`() {
    var sold = Sold()
    sold.pay(10, 41, nil)
    sold.pay(11, 42, nil)
    sold.reverse(0, 12, nil)
    let january = report(1, [sold])
    #expect(january.untold.paymentCount == 2)
    #expect(january.untold.reversalCount == 1)
    #expect(january.currencies.isEmpty)
  }

  @Test func `a trial's invoice of nothing is no payment`() {
    var sold = Sold()
    sold.pay(10, 24, "0.00")
    #expect(report(1, [sold]).currencies.isEmpty)
  }

  @Test func `money of which nothing tells what it bought has no plan`() {
    var sold = Sold()
    sold.pay("stickers", 10, 41, "1.99")
    sold.reverse(nil, 12, "1.99")
    let keys = report(1, [sold]).revenue["USD"]?.keys.map(\.plan) ?? []
    #expect(keys.contains(nil))
  }

  /// In every case each month opens as the one before closed, each figure follows from the others, and the
  /// segments add up to the whole.
  @Test func `of random subscribers every figure follows from the others`() {
    let seed = SeededGenerator.seed(of: "random subscribers")
    var random = SeededGenerator(seed: seed)
    let subscribers = (0..<60).map { _ in Self.chain(&random) }
    var before: MonthlyReport?
    for number in 1...20 {
      var month = MonthlyReport(Month("2026-01")!.adding(Int64(number - 1)))
      for sold in subscribers {
        month.add(Subscriber(sold.map(\.purchase), Sold.catalogue))
      }
      for movement in month.movements + Array(month.segments.values) {
        #expect(
          movement.opening + movement.new + movement.returned + movement.changedIn
            - movement.changedOut - movement.lost == movement.closing, "seed \(seed)")
      }
      for trial in month.trials {
        #expect(
          trial.opening + trial.started - trial.converted - trial.ended == trial.closing,
          "seed \(seed)")
      }
      for failure in month.failures {
        #expect(
          failure.opening + failure.failed - failure.recovered - failure.lost == failure.closing,
          "seed \(seed)")
      }
      #expect(month.reasons.values.reduce(0, +) == month.movement.lost, "seed \(seed)")
      #expect(
        month.segments.values.reduce(0) { $0 + $1.closing } == month.movement.closing,
        "seed \(seed)")
      for currency in month.currencies {
        let parts = (month.revenue[currency] ?? [:]).values
        let whole = month.revenue(in: currency)
        #expect(parts.reduce(.zero) { $0 + $1.gross } == whole.gross, "seed \(seed)")
        #expect(parts.reduce(.zero) { $0 + $1.refunded } == whole.refunded, "seed \(seed)")
        #expect(parts.reduce(.zero) { $0 + $1.disputed } == whole.disputed, "seed \(seed)")
        #expect(parts.reduce(0) { $0 + $1.paymentCount } == whole.paymentCount, "seed \(seed)")
        #expect(parts.reduce(0) { $0 + $1.refundCount } == whole.refundCount, "seed \(seed)")
        #expect(parts.reduce(0) { $0 + $1.disputeCount } == whole.disputeCount, "seed \(seed)")
      }
      if let before {
        #expect(before.movements.dropFirst() == month.movements.dropLast(), "seed \(seed)")
        #expect(before.movement.closing == month.movement.opening, "seed \(seed)")
      }
      before = month
    }
  }

  static func chain(_ random: inout SeededGenerator) -> [Sold] {
    var day = Double.random(in: 1...500, using: &random)
    return (0..<Int.random(in: 1...3, using: &random)).map { _ in
      var sold = Sold(store: ["stripe", "apple", "google"].randomElement(using: &random)!)
      if Bool.random(using: &random) {
        sold.owe("premium", day, day + 14, .trial)
        sold.become(.trialing, day)
        day += 14
      }
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        let plan = ["premium", "plus", "extra"].randomElement(using: &random)!
        let length: Double = Int.random(in: 0..<5, using: &random) == 0 ? 365 : 30
        let amount = Int.random(in: 0..<9, using: &random) == 0 ? nil : "2.99"
        let currency = Bool.random(using: &random) ? "USD" : "JPY"
        sold.pay(plan, day, day + length, amount, currency)
        sold.become(.active, day)
        if Int.random(in: 0..<5, using: &random) == 0 {
          sold.reverse(
            sold.payments.count - 1, day + Double.random(in: 0...60, using: &random), "1.00")
        }
        day += length
        if Int.random(in: 0..<3, using: &random) == 0 {
          sold.owe("premium", day, day + 7, Bool.random(using: &random) ? .grace : .leeway)
          sold.become(.grace, day)
          day += Double.random(in: 0...20, using: &random)
        }
      }
      sold.end(day, .lapsed)
      sold.become(.expired, day)
      day += Double.random(in: -10...60, using: &random)
      return sold
    }
  }
}
