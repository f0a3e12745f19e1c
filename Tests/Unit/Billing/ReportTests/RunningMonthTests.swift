import Base
import SeededRandom
import Subscriptions
import Testing
import Tiers

@testable import Report

/// A month that is not over yet is counted to date.
struct RunningMonthTests {
  private static let february = Month("2026-02")!

  private static func report(_ sold: Sold..., at day: Double) -> MonthlyReport {
    var report = MonthlyReport(february, at: Sold.day(day))
    for one in sold { report.add(Subscriber([one.purchase], Sold.catalogue)) }
    return report
  }

  @Test func `who will be lost later in the month is a subscriber to date`() {
    var sold = Sold()
    sold.pay(10, 41)
    sold.end(41, .lapsed)
    #expect(Self.report(sold, at: 36).movement.lost == 0)
    #expect(Self.report(sold, at: 36).movement.closing == 1)
    #expect(Self.report(sold, at: 42).movement.lost == 1)
  }

  @Test func `what happens at the moment of the report is not in it`() {
    var sold = Sold()
    sold.pay(40, 68)
    #expect(Self.report(sold, at: 40).movement.new == 0)
    #expect(Self.report(sold, at: 40).currencies.isEmpty)
    #expect(Self.report(sold, at: 40.5).movement.new == 1)
    #expect(Self.report(sold, at: 40.5).revenue(in: "USD").paymentCount == 1)
  }

  @Test func `a failed payment that is noticed later is not open to date`() {
    var sold = Sold()
    sold.pay(10, 41)
    sold.become(.active, 10)
    sold.become(.grace, 41)
    #expect(Self.report(sold, at: 36).failure.closing == 0)
    #expect(Self.report(sold, at: 42).failure.closing == 1)
  }

  @Test func `a month is whole from its end on`() {
    #expect(MonthlyReport(Self.february, at: Self.february.end).toDate == nil)
    let last = Self.february.end - .milliseconds(1)
    #expect(MonthlyReport(Self.february, at: last).toDate == last)
  }

  @Test func `finished months are the same beside a running one`() throws {
    let seed = SeededGenerator.seed(of: "running month")
    var random = SeededGenerator(seed: seed)
    let subscribers = (0..<60).map { _ in RevenueTests.chain(&random) }
    for number in 1...20 {
      let month = Month("2026-01")!.adding(Int64(number - 1))
      let moment = month.start + .hours(Int64.random(in: 1...600, using: &random))
      var running = MonthlyReport(month, at: moment)
      var whole = MonthlyReport(month)
      for sold in subscribers {
        running.add(Subscriber(sold.map(\.purchase), Sold.catalogue))
        whole.add(Subscriber(sold.map(\.purchase), Sold.catalogue))
      }
      #expect(running.movements.dropLast() == whole.movements.dropLast(), "seed \(seed)")
      #expect(running.trials.dropLast() == whole.trials.dropLast(), "seed \(seed)")
      #expect(running.failures.dropLast() == whole.failures.dropLast(), "seed \(seed)")
      for movement in running.movements + Array(running.segments.values) {
        #expect(
          movement.opening + movement.new + movement.returned + movement.changedIn
            - movement.changedOut - movement.lost == movement.closing, "seed \(seed)")
      }
    }
  }
}
