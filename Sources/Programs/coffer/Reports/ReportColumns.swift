import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import Report
import Tiers

/// A month's figures: the columns of its tables, and the members of its JSON.
enum ReportColumns {
  typealias Movement = MonthlyReport.Movement
  typealias Revenue = MonthlyReport.CurrencyRevenue

  /// Figures of a segment; of all segments together if it is nil.
  typealias Split<Figures> = (segment: Segment?, figures: Figures)

  static var report: Listing<ReportFigures> {
    let catalogue = Listing<Catalogue>([
      .text("version") { $0.version }, .text("digest") { $0.digest },
    ])
    let untold = Listing<MonthlyReport.Untold>([
      .integer("payments") { $0.paymentCount }, .integer("reversals") { $0.reversalCount },
    ])
    let subscribers = Listing<MonthlyReport>(
      movement.columns { $0.current.movement } + [
        .list("segments", split(movement)) { $0.splitMovements },
        .list("reasons", reasons) { $0.sortedReasons },
      ])
    let revenue = Listing<(month: MonthlyReport, sum: Revenue)>(
      revenue.columns { $0.sum } + [
        .text("currency") { $0.sum.currency },
        .list("segments", split(self.revenue)) { $0.month.splitRevenue(in: $0.sum.currency) },
      ])
    let all = Listing<ReportFigures>(
      storage.columns { $0.storage.total } + [
        .integer("opened") { $0.storage.openedCount },
        .list("plans", storageOfPlans) { $0.storageOfPlans },
      ])
    return Listing([
      .text("month") { $0.month.month.description }, .optionalTime("to_date") { $0.month.toDate },
      .time("made") { $0.made }, .text("environment") { $0.environment },
      .object("catalogue", catalogue) { $0.catalogue },
      .object("subscribers", subscribers) { $0.month },
      .object("trials", trials) { $0.month.current.trials },
      .object("failed_payments", failures) { $0.month.current.failures },
      .list("revenue", revenue) { figures in
        figures.month.current.revenue.map { (figures.month, $0) }
      }, .object("untold", untold) { $0.month.untold },
      .list("months", months) { $0.month.months.indices.map($0.month.figures) },
      .object("storage", all) { $0 },
    ])
  }

  static func split<Figures>(_ figures: Listing<Figures>) -> Listing<Split<Figures>> {
    Listing(
      [
        .text("store", "STORE") { $0.segment?.store ?? "all" },
        Column(
          "plan", .orNull(.text), "PLAN", json: { $0.segment?.plan.map { .string($0) } ?? .null },
          cell: { row, _ in row.segment.map { $0.plan ?? "-" } ?? "" }),
        .text("interval", "INTERVAL") { $0.segment?.period.rawValue ?? "" },
      ] + figures.columns { $0.figures })
  }

  static var movement: Listing<Movement> {
    Listing([
      .count("opening", "OPENING") { $0.opening }, .count("new", "NEW") { $0.new },
      .count("returned", "RETURNED") { $0.returned }, .count("changed_in", "IN") { $0.changedIn },
      .count("changed_out", "OUT") { $0.changedOut }, .count("lost", "LOST") { $0.lost },
      .count("closing", "CLOSING") { $0.closing },
      .shown("CHURN", .right) { movement, _ in movement.churn.text },
    ])
  }

  static var reasons: Listing<(reason: CapReason, count: Int64)> {
    Listing([
      .text("reason", "REASON") { $0.reason.rawValue },
      .count("subscribers", "SUBSCRIBERS") { $0.count },
    ])
  }

  static var trials: Listing<MonthlyReport.Trials> {
    Listing([
      .count("opening", "OPENING") { $0.opening }, .count("started", "STARTED") { $0.started },
      .count("converted", "CONVERTED") { $0.converted }, .count("ended", "ENDED") { $0.ended },
      .count("closing", "CLOSING") { $0.closing },
    ])
  }

  static var failures: Listing<MonthlyReport.Failures> {
    Listing([
      .count("opening", "OPENING") { $0.opening }, .count("failed", "FAILED") { $0.failed },
      .count("recovered", "RECOVERED") { $0.recovered }, .count("lost", "LOST") { $0.lost },
      .count("closing", "CLOSING") { $0.closing },
      .shown("RECOVERY", .right) { failures, _ in failures.recovery.text },
    ])
  }

  static var revenue: Listing<Revenue> {
    func sum(
      _ name: String, _ title: String, _ sum: @escaping (MonthlyReport.Revenue) -> MoneySum
    ) -> Column<Revenue> {
      .text(name, title, .right) { sum($0.revenue).money(in: $0.currency).amount }
    }
    return Listing([
      .count("payments", "PAYMENTS") { $0.revenue.paymentCount },
      sum("gross", "GROSS") { $0.gross }, .count("refunds", "REFUNDS") { $0.revenue.refundCount },
      sum("refunded", "REFUNDED") { $0.refunded },
      .count("disputes", "DISPUTES") { $0.revenue.disputeCount },
      sum("disputed", "DISPUTED") { $0.disputed }, sum("net", "NET") { $0.net },
    ])
  }

  static var months: Listing<MonthlyReport.OfMonth> {
    let revenue = Listing<Revenue>(revenue.columns { $0 } + [.text("currency") { $0.currency }])
    return Listing([
      Column(
        "month", .text, "MONTH", json: { .string($0.month.description) },
        cell: { row, _ in row.month.description + (row.toDate == nil ? "" : " to date") }),
      .optionalTime("to_date") { $0.toDate },
      .object("subscribers", movement) { $0.movement }, .object("trials", trials) { $0.trials },
      .object("failed_payments", failures) { $0.failures },
      .list("revenue", revenue) { $0.revenue },
      .shown("CLOSING", .right) { row, _ in row.movement.closing.grouped },
      .shown("CAME", .right) { row, _ in row.movement.came.grouped },
      .shown("LOST", .right) { row, _ in row.movement.lost.grouped },
      .shown("CHURN", .right) { row, _ in row.movement.churn.text },
      .shown("NET") { row, _ in
        let net = row.revenue.map { $0.revenue.net.money(in: $0.currency).description }
        return net.isEmpty ? "-" : net.joined(separator: ", ")
      },
    ])
  }

  private static var storage: Listing<StorageFigures.Sum> {
    Listing([
      .count("accounts", "ACCOUNTS") { $0.accountCount },
      .bytes("usage", "USED") { $0.usageByteCount },
      .count("over_cap", "OVER CAP") { $0.overCapAccountCount },
      .bytes("over_cap_bytes", "BY") { $0.overCapByteCount },
    ])
  }

  static var storageOfPlans: Listing<(plan: String, sum: StorageFigures.Sum)> {
    Listing([.text("plan", "PLAN") { $0.plan }] + storage.columns { $0.sum })
  }
}

extension MonthlyReport {
  var splitMovements: [ReportColumns.Split<Movement>] {
    sortedSegments.map { ($0.segment, $0.movement) }
  }

  func splitRevenue(in currency: String) -> [ReportColumns.Split<CurrencyRevenue>] {
    segments(of: currency).map { ($0.segment, CurrencyRevenue($0.revenue, in: currency)) }
  }
}
