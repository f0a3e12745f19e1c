import Report
import Subscriptions
import Testing
import Tiers

/// Days of 2026: January ends before day 32, February before 60, March before 91.
struct SubscriberTests {
  /// Pays from the tenth of January to the tenth of March.
  private func paying() -> Sold {
    var sold = Sold()
    sold.pay(10, 41)
    sold.pay(41, 69)
    sold.end(69, .lapsed)
    return sold
  }

  @Test func `who pays is new in the first month, stays, and is lost when nothing follows`() {
    #expect(report(1, [paying()]).movement.text == "0 1 0 0 0 0 1")
    #expect(report(2, [paying()]).movement.text == "1 0 0 0 0 0 1")
    let march = report(3, [paying()])
    #expect(march.movement.text == "1 0 0 0 0 1 0")
    #expect(march.reasons == [.lapsed: 1])
    #expect(report(4, [paying()]).movement.text == "0 0 0 0 0 0 0")
    #expect(march.movements.suffix(3).map(\.closing) == [1, 1, 0])
  }

  @Test func `what begins at midnight of the first belongs to the month that begins`() {
    var sold = Sold()
    sold.pay(32, 60)
    sold.end(60, .lapsed)
    #expect(report(1, [sold]).movement.text == "0 0 0 0 0 0 0")
    #expect(report(2, [sold]).movement.text == "0 1 0 0 0 0 1")
    #expect(report(3, [sold]).movement.text == "1 0 0 0 0 1 0")
  }

  @Test func `who comes back has returned`() {
    var sold = paying()
    sold.pay(100, 130)
    let april = report(4, [sold])
    #expect(april.movement.text == "0 0 1 0 0 0 1")
  }

  @Test func `who comes and goes within a month is counted as both`() {
    var sold = Sold()
    sold.pay(10, 41, owedTo: 12)
    sold.reverse(0, 12, "2.99")
    sold.end(12, .refunded)
    let january = report(1, [sold])
    #expect(january.movement.text == "0 1 0 0 0 1 0")
    #expect(january.reasons == [.refunded: 1])
    #expect(january.net("USD") == "0.00")
  }

  @Test func `who changes the plan goes from one segment to another`() {
    var sold = Sold()
    sold.pay("premium", 10, 41, owedTo: 20)
    sold.pay("plus", 20, 385, "99.00")
    let january = report(1, [sold])
    #expect(january.movement.text == "0 1 0 1 1 0 1")
    #expect(
      january.segments.map { "\($0.key.plan ?? "-") \($0.key.period) \($0.value.text)" }.sorted()
        == ["plus year 0 0 0 1 0 0 1", "premium month 0 1 0 0 1 0 0"])
  }

  @Test func `an addition changes nothing beside a plan, and counts alone`() {
    var sold = Sold()
    sold.pay("premium", 10, 41)
    sold.pay("extra", 12, 43, "0.49")
    let both = report(1, [sold])
    #expect(both.segments.keys.map(\.plan) == ["premium"])
    var alone = Sold()
    alone.pay("extra", 12, 43, "0.49")
    #expect(report(1, [alone]).segments.keys.map(\.plan) == ["extra"])
    let revenue = both.revenue["USD"]?.map { "\($0.key.plan ?? "-") \($0.value.paymentCount)" }
    #expect(revenue?.sorted() == ["extra 1", "premium 1"])
  }

  @Test func `a trial is told apart from what follows it`() {
    var sold = Sold()
    sold.owe("premium", 10, 24, .trial)
    #expect(report(1, [sold]).movement.text == "0 0 0 0 0 0 0")
    #expect(report(1, [sold]).trial.ended == 1)
    sold.pay(24, 55)
    let january = report(1, [sold])
    #expect(january.trial.started == 1)
    #expect(january.trial.converted == 1)
    #expect(january.trial.ended == 0)
    #expect(january.movement.text == "0 1 0 0 0 0 1")
  }

  @Test func `grace after a trial that nobody paid for makes no subscriber`() {
    var sold = Sold()
    sold.owe("premium", 10, 24, .trial)
    sold.owe("premium", 24, 27, .grace)
    let january = report(1, [sold])
    #expect(january.movement.text == "0 0 0 0 0 0 0")
    #expect(january.trial.ended == 1)
  }

  /// Google Play shows a paid purchase as if it had been paid from the start.
  @Test func `a trial that was noticed stays one when its store no longer tells of it`() {
    var sold = Sold(store: "google")
    sold.owe("premium", 10, 55, .subscribed)
    sold.become(.trialing, 10)
    sold.become(.active, 24)
    let january = report(1, [sold])
    #expect(january.trial.started == 1)
    #expect(january.trial.converted == 1)
    #expect(january.movement.text == "0 1 0 0 0 0 1")
  }

  @Test func `in grace one is still a subscriber`() {
    var sold = Sold()
    sold.pay(10, 41)
    sold.owe("premium", 41, 48, .grace)
    sold.end(48, .paymentFailed)
    let february = report(2, [sold])
    #expect(february.movement.text == "1 0 0 0 0 1 0")
    #expect(february.reasons == [.paymentFailed: 1])
  }

  @Test func `the leeway for a first payment that never came makes no subscriber`() {
    var sold = Sold()
    sold.owe("premium", 10, 11, .leeway)
    #expect(report(1, [sold]).movement.text == "0 0 0 0 0 0 0")
  }

  @Test func `a purchase that continues another is the same subscriber`() {
    var (old, new) = (Sold(store: "google"), Sold(store: "google"))
    old.pay("premium", 10, 41, owedTo: 20)
    old.end(20, .lapsed)
    new.pay("plus", 20, 51)
    #expect(report(1, [old, new]).movement.text == "0 1 0 1 1 0 1")
    #expect(report(1, [old], [new]).movement.text == "0 2 0 0 0 1 1")
  }

  @Test func `a part of a period is counted with the period that is paid otherwise`() {
    var sold = Sold()
    sold.pay("premium", 10, 375, "30.00")
    sold.pay("premium", 15, 22, "1.00")
    let january = report(1, [sold])
    #expect(january.segments.keys.map(\.period) == [.year])
    #expect(january.revenue["USD"]?.keys.map(\.period) == [.year])
  }

  private static let given: [(sold: Double, given: Double, period: String)] = [
    (365, 14, "year"), (365, 42, "year"), (365, 180, "year"), (31, 14, "month"),
    (28, 26, "month"), (59, 0, "other"), (184, 14, "other"), (7, 14, "other"), (730, 0, "other"),
  ]

  @Test(arguments: given)
  func `days that a store gives to a period leave it what it was sold as`(
    sold: Double, given: Double, period: String
  ) {
    var one = Sold(store: "apple")
    one.pay(10, 10 + sold + given, "30.00")
    let january = report(1, [one])
    #expect(january.segments.keys.map(\.period.rawValue) == [period])
    #expect(january.revenue["USD"]?.keys.map(\.period.rawValue) == [period])
  }

  @Test func `failed payments recover or are lost, by when that was noticed`() {
    var (paid, unpaid) = (Sold(), Sold())
    for label in [Label.active, .grace, .active] {
      paid.become(label, 30, noticed: Double(30 + paid.changes.count))
    }
    for label in [Label.active, .grace, .onHold, .expired] {
      unpaid.become(label, Double(30 + 10 * unpaid.changes.count))
    }
    let january = report(1, [paid], [unpaid]).failure
    #expect((january.failed, january.recovered, january.lost, january.closing) == (1, 0, 0, 1))
    let february = report(2, [paid], [unpaid]).failure
    #expect(
      (february.opening, february.failed, february.recovered, february.lost) == (1, 1, 1, 0))
    let march = report(3, [paid], [unpaid]).failure
    #expect((march.opening, march.lost, march.closing) == (1, 1, 0))
  }
}
