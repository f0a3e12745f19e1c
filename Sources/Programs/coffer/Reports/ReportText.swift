import Accounts
import Acts
import CommandLine
import Configuration
import Report
import Tiers

/// A month's figures for people at a terminal.
struct ReportText {
  let figures: ReportFigures

  var text: String {
    let toDate = figures.month.toDate.map { ", until \($0)" } ?? ""
    var text = "\(figures.month.title)\(toDate), as known at \(figures.made)\n"
    let catalogue = "catalogue \(Printable.text(figures.catalogue.version)), digest "
    text +=
      catalogue
      + Folded.text(figures.catalogue.digest, to: max(16, Terminal.width - catalogue.count)) + "\n"
    text += titled("subscribers", subscribers)
    text += titled("why they were lost", reasons)
    text += titled("trials", trials)
    text += titled("failed payments", failures)
    for currency in figures.month.currencies where !figures.month.segments(of: currency).isEmpty {
      text += titled("revenue in \(Printable.text(currency))", revenue(in: currency))
    }
    text += titled("the months up to it", history)
    text += titled("storage, as of now", storage)
    return text + "\n" + notes.map { Prose.text($0, width: min(100, Terminal.width)) }.joined()
  }

  private func titled(_ title: String, _ table: Table) -> String {
    table.isEmpty ? "" : "\n\(title)\n" + table.text
  }

  var subscribers: Table {
    table(
      ReportColumns.split(ReportColumns.movement),
      figures.month.splitMovements + [(nil, figures.month.current.movement)])
  }

  var reasons: Table { table(ReportColumns.reasons, figures.month.sortedReasons) }
  var trials: Table { table(ReportColumns.trials, [figures.month.current.trials]) }
  var failures: Table { table(ReportColumns.failures, [figures.month.current.failures]) }
  var history: Table { table(ReportColumns.months, figures.month.known) }

  func revenue(in currency: String) -> Table {
    let all = MonthlyReport.CurrencyRevenue(figures.month.revenue(in: currency), in: currency)
    return table(
      ReportColumns.split(ReportColumns.revenue),
      figures.month.splitRevenue(in: currency) + [(nil, all)])
  }

  var storage: Table {
    table(ReportColumns.storageOfPlans, figures.storageOfPlans + [("all", figures.storage.total)])
  }

  private func table<Row>(_ listing: Listing<Row>, _ rows: [Row]) -> Table {
    listing.table(rows, at: figures.made)
  }

  private var notes: [String] { ReportNotes.all(figures) }
}

/// What readers must know to understand the figures, in sentences.
enum ReportNotes {
  static func all(_ figures: ReportFigures) -> [String] {
    var notes = [
      "A subscriber is a purchase, with those that continue it, while it gives a plan and no trial runs. "
        + "Grants of operators are not counted.",
      "The figures are as known today: opening + new + returned + in - out - lost = closing. In and out "
        + "are those who changed their plan or interval.",
      "Churn is the share of the opening subscribers who were lost.",
      "Revenue is what the stores reported as paid in the month, taxes included. Currencies are not "
        + "added up. The stores' commissions are not known here.",
      "\(figures.storage.openedCount.grouped) accounts were created in the month.",
    ]
    if let toDate = figures.month.toDate {
      notes.insert(
        "\(figures.month.month.title) is not over. It counts what happened before \(toDate). Closing "
          + "is as of then, and the month before is complete.", at: 0)
    }
    let untold = figures.month.untold
    if untold.paymentCount + untold.reversalCount > 0 {
      notes.append(
        "The amounts of \(untold.paymentCount.grouped) payments and "
          + "\(untold.reversalCount.grouped) reversals are unknown, and in no sum.")
    }
    if figures.environment != "live" {
      notes.append("These are purchases of the \(figures.environment), which grants plans here.")
    }
    return notes
  }
}
