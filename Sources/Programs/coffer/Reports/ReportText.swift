internal import Accounts
internal import Base
internal import CommandLine
internal import Configuration
internal import Report
internal import Sync
internal import Tiers

/// A month's figures for people at a terminal.
struct ReportText {
  private let figures: ReportFigures

  init(_ figures: ReportFigures) { self.figures = figures }

  var text: String {
    let toDate = figures.month.toDate.map { ", until \($0)" } ?? ""
    var text = "\(figures.title)\(toDate), as known at \(figures.made)\n"
    let catalogue = "catalogue \(Printable.text(figures.catalogue.version)), digest "
    text +=
      catalogue
      + Folded.text(figures.catalogue.digest, to: max(16, Terminal.width - catalogue.count)) + "\n"
    text += titled("subscribers", subscribers)
    text += titled("why they were lost", reasons)
    text += titled("trials", trials)
    text += titled("failed payments", failures)
    for currency in figures.month.currencies where !figures.revenue(in: currency).isEmpty {
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
    var table = Table(
      ("STORE", .left), ("PLAN", .left), ("INTERVAL", .left), ("OPENING", .right), ("NEW", .right),
      ("RETURNED", .right), ("IN", .right), ("OUT", .right), ("LOST", .right),
      ("CLOSING", .right), ("CHURN", .right))
    func add(_ names: [String], _ movement: MonthlyReport.Movement) {
      table.add(
        names[0], names[1], names[2], movement.opening.grouped, movement.new.grouped,
        movement.returned.grouped, movement.changedIn.grouped, movement.changedOut.grouped,
        movement.lost.grouped, movement.closing.grouped, movement.churn.text)
    }
    for (segment, movement) in figures.segments {
      add([segment.store, segment.plan ?? "-", segment.period.rawValue], movement)
    }
    add(["all", "", ""], figures.movement)
    return table
  }

  var reasons: Table {
    var table = Table(("REASON", .left), ("SUBSCRIBERS", .right))
    for (reason, count) in figures.reasons { table.add(reason.rawValue, count.grouped) }
    return table
  }

  var trials: Table {
    var table = Table(
      ("OPENING", .right), ("STARTED", .right), ("CONVERTED", .right), ("ENDED", .right),
      ("CLOSING", .right))
    let trials = figures.trials
    table.add(
      trials.opening.grouped, trials.started.grouped, trials.converted.grouped,
      trials.ended.grouped, trials.closing.grouped)
    return table
  }

  var failures: Table {
    var table = Table(
      ("OPENING", .right), ("FAILED", .right), ("RECOVERED", .right), ("LOST", .right),
      ("CLOSING", .right), ("RECOVERY", .right))
    let failures = figures.failures
    table.add(
      failures.opening.grouped, failures.failed.grouped, failures.recovered.grouped,
      failures.lost.grouped, failures.closing.grouped, failures.recovery.text)
    return table
  }

  func revenue(in currency: String) -> Table {
    var table = Table(
      ("STORE", .left), ("PLAN", .left), ("INTERVAL", .left), ("PAYMENTS", .right),
      ("GROSS", .right), ("REFUNDS", .right), ("REFUNDED", .right), ("DISPUTES", .right),
      ("DISPUTED", .right), ("NET", .right))
    func add(_ names: [String], _ revenue: MonthlyReport.Revenue) {
      func text(_ sum: MoneySum) -> String { sum.money(in: currency).amount }
      table.add(
        names[0], names[1], names[2], revenue.paymentCount.grouped, text(revenue.gross),
        revenue.refundCount.grouped, text(revenue.refunded), revenue.disputeCount.grouped,
        text(revenue.disputed), text(revenue.net))
    }
    for (segment, revenue) in figures.revenue(in: currency) {
      add([segment.store, segment.plan ?? "-", segment.period.rawValue], revenue)
    }
    add(["all", "", ""], figures.month.revenue(in: currency))
    return table
  }

  var history: Table {
    var table = Table(
      ("MONTH", .left), ("CLOSING", .right), ("CAME", .right), ("LOST", .right),
      ("CHURN", .right), ("NET", .left))
    for index in figures.known {
      let movement = figures.month.movements[index]
      let net = figures.month.currencies.compactMap { currency in
        figures.month.revenueOfMonths[currency].map {
          $0[index].net.money(in: currency).description
        }
      }
      table.add(
        figures.month.months[index].description + (figures.isToDate(index) ? " to date" : ""),
        movement.closing.grouped,
        (movement.new + movement.returned).grouped,
        movement.lost.grouped, movement.churn.text,
        net.isEmpty ? "-" : net.joined(separator: ", "))
    }
    return table
  }

  var storage: Table {
    var table = Table(
      ("PLAN", .left), ("ACCOUNTS", .right), ("USED", .right), ("OVER CAP", .right),
      ("BY", .right))
    func add(_ name: String, _ sum: StorageSum) {
      table.add(
        name, sum.accountCount.grouped, ByteCount.text(sum.usageByteCount),
        sum.overCapAccountCount.grouped, ByteCount.text(sum.overCapByteCount))
    }
    for (plan, sum) in figures.storageOfPlans { add(plan, sum) }
    add("all", figures.storage.total)
    return table
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
      notes.append(
        "These are purchases of the \(figures.environment), which grants plans here.")
    }
    return notes
  }
}
