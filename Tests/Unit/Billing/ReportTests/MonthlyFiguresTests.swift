import Base
import Testing

@testable import Report

/// What tables and pages show of a report.
struct MonthlyFiguresTests {
  private static let february = Month("2026-02")!

  @Test func `months of which nothing can be known are left out, but not the last two`() {
    #expect(
      MonthlyReport(Self.february).known.map(\.month.description) == ["2026-01", "2026-02"])
    var sold = Sold()
    sold.pay(10, 41)
    var report = MonthlyReport(Self.february.adding(2))
    report.add(Subscriber([sold.purchase], Sold.catalogue))
    let known = report.known
    #expect(known.last?.month.description == "2026-04")
    #expect(known.first.map { report.began! < $0.month.end } == true)
    #expect(known.count < report.months.count)
  }

  @Test func `only the running month is told to date`() {
    let report = MonthlyReport(Self.february, at: Self.february.start + .days(3))
    #expect(report.title == "February 2026 to date")
    #expect(report.current.toDate == Self.february.start + .days(3))
    #expect(report.previous.toDate == nil)
    #expect(MonthlyReport(Self.february).title == "February 2026")
  }

  @Test func `the last figures are those of the month`() {
    var sold = Sold()
    sold.pay(40, 68)
    var report = MonthlyReport(Self.february)
    report.add(Subscriber([sold.purchase], Sold.catalogue))
    #expect(report.current.movement.came == 1)
    #expect(report.previous.movement.came == 0)
    #expect(report.current.revenue.map(\.currency) == ["USD"])
    #expect(report.current.revenue.first?.revenue == report.revenue(in: "USD"))
    #expect(report.sortedSegments.map(\.movement.new) == [1])
  }

  @Test(arguments: [
    (1, 3, "33.3 %"), (2, 3, "66.7 %"), (0, 5, "0.0 %"), (5, 5, "100.0 %"), (0, 0, "-"),
  ])
  func `a portion is in tenths of a percent`(part: Int64, whole: Int64, text: String) {
    #expect(Portion(part: part, whole: whole).text == text)
  }
}
