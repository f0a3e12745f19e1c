internal import Accounts
internal import Base
internal import CommandLine
internal import Configuration
internal import Report
internal import Sync
internal import Tiers

/// A month's figures as a page: one file that needs nothing else, for light and dark displays and for paper.
struct ReportPage {
  private let figures: ReportFigures

  init(_ figures: ReportFigures) { self.figures = figures }

  var text: String {
    let title = "Coffer in \(figures.title)"
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>\(HTML.text(title))</title>
      <style>
      \(ReportStyle.text)</style>
      </head>
      <body>
      <main>
      <header>
      <h1>\(HTML.text(title))</h1>
      <p>\(HTML.text(source))</p>
      </header>
      <section class="tiles">
      \(tiles.map(\.html).joined())</section>
      \(sections)<section class="notes">
      <h2>What the figures mean</h2>
      <ul>
      \(ReportNotes.all(figures).map { "<li>\(HTML.text($0))</li>\n" }.joined())</ul>
      <p>Catalogue \(HTML.text(figures.catalogue.version)), digest
      <code>\(HTML.text(figures.catalogue.digest))</code></p>
      </section>
      </main>
      </body>
      </html>

      """
  }

  private var source: String {
    "As known on \(time(figures.made)), "
      + (figures.month.toDate.map { "counted until \(time($0)), " } ?? "")
      + "from the ledger of coffer-billing"
  }

  private func time(_ moment: Instant) -> String {
    "\(moment.description.prefix(10)), \(moment.description.dropFirst(11).prefix(5)) UTC"
  }

  // MARK: the five figures

  private struct Tile {
    let title: String
    let value: String
    let change: String

    var html: String {
      """
      <div class="tile"><h3>\(HTML.text(title))</h3><p class="value">\(HTML.text(value))</p>\
      <p class="change">\(HTML.text(change))</p></div>

      """
    }
  }

  private var tiles: [Tile] {
    let (now, before) = (figures.movement, figures.movementBefore)
    let (came, cameBefore) = (now.new + now.returned, before.new + before.returned)
    return [
      Tile(
        title: "Subscribers", value: now.closing.grouped,
        change: change(now.closing - before.closing)), money,
      Tile(title: "New and returned", value: came.grouped, change: change(came - cameBefore)),
      Tile(
        title: "Churn", value: now.churn.text,
        change: points(now.churn.permille, before.churn.permille)),
      Tile(
        title: "Failed payments recovered", value: figures.failures.recovery.text,
        change: points(
          figures.failures.recovery.permille, figures.failuresBefore.recovery.permille)),
    ]
  }

  private var money: Tile {
    guard let currency = figures.month.currencies.first,
      let series = figures.month.revenueOfMonths[currency]
    else { return Tile(title: "Net revenue", value: "-", change: "nothing was paid") }
    let (now, before) = (series[series.count - 1].net, series[series.count - 2].net)
    let difference = now - before
    let others = figures.month.currencies.dropFirst().filter {
      figures.month.revenue(in: $0) != MonthlyReport.Revenue()
    }
    let sign = difference < .zero ? "" : "+"
    return Tile(
      title: "Net revenue", value: now.money(in: currency).description,
      change: "\(sign)\(difference.money(in: currency)) to \(compared)"
        + (others.isEmpty ? "" : "; also \(others.joined(separator: ", "))"))
  }

  /// The period that a figure is compared with.
  private var compared: String {
    figures.month.toDate == nil ? "the month before" : "the whole month before"
  }

  private func change(_ difference: Int64) -> String {
    difference == 0
      ? "as in \(compared)"
      : "\(difference < 0 ? "" : "+")\(difference.grouped) to \(compared)"
  }

  private func points(_ now: Int64?, _ before: Int64?) -> String {
    guard let now, let before else { return "nothing to compare" }
    let difference = now - before
    if difference == 0 { return "as in \(compared)" }
    let size = difference.magnitude
    return "\(difference < 0 ? "-" : "+")\(size / 10).\(size % 10) points to \(compared)"
  }

  // MARK: plots, each with its table

  private var sections: String {
    let report = ReportText(figures)
    let known = figures.known
    let months = figures.month.months[known].map(\.description)
    let movements = figures.month.movements[known]
    let trials = figures.month.trials[known]
    let failures = figures.month.failures[known]
    var html = section(
      "Subscribers",
      [
        Plot.line(
          "Subscribers at the end of each month", months,
          movements.map { Double($0.closing) }
        ) { Int64($0).grouped },
        Plot.bars(
          "At the end of the month, by plan, store and interval",
          figures.segments.filter { $0.movement.closing > 0 }.map {
            Plot.Bar(
              name: $0.segment.name, value: Double($0.movement.closing),
              label: $0.movement.closing.grouped)
          }),
      ], report.subscribers)
    html += section(
      "Coming and going",
      [
        Plot.upAndDown(
          "Who came (up) and who was lost (down)", months,
          up: movements.map { $0.new + $0.returned },
          down: movements.map(\.lost)),
        Plot.bars(
          "Why they were lost",
          figures.reasons.map {
            Plot.Bar(
              name: $0.reason.rawValue.replacing("_", with: " "), value: Double($0.count),
              label: $0.count.grouped)
          }),
      ], report.reasons)
    for currency in figures.month.currencies {
      let series = figures.month.revenueOfMonths[currency].map { Array($0[known]) } ?? []
      html += section(
        "Revenue in \(currency)",
        [
          Plot.line(
            "Net revenue of each month, \(currency)", months, series.map(\.net.approximate)
          ) { value in
            series.map(\.net).first { $0.approximate == value }?.money(in: currency).amount ?? ""
          },
          Plot.bars(
            "Net in the month, by plan, store and interval",
            figures.revenue(in: currency).filter { $0.revenue.net > .zero }.map {
              Plot.Bar(
                name: $0.segment.name, value: $0.revenue.net.approximate,
                label: $0.revenue.net.money(in: currency).amount)
            }),
        ], report.revenue(in: currency))
    }
    html += section(
      "Trials",
      [
        Plot.upAndDown(
          "After which people subscribed (up) and did not (down)", months,
          up: trials.map(\.converted), down: trials.map(\.ended))
      ], report.trials)
    html += section(
      "Failed payments",
      [
        Plot.upAndDown(
          "Which recovered (up) and did not (down)", months,
          up: failures.map(\.recovered), down: failures.map(\.lost))
      ], report.failures)
    html += section("The months up to it", [], report.history)
    return html
      + section(
        "Storage, as of now",
        [
          Plot.bars(
            "Bytes used, by plan",
            figures.storageOfPlans.map {
              Plot.Bar(
                name: $0.plan, value: Double($0.sum.usageByteCount),
                label: ByteCount.text($0.sum.usageByteCount))
            }),
          Plot.bars(
            "Accounts over their cap, by plan",
            figures.storageOfPlans.filter { $0.sum.overCapAccountCount > 0 }.map {
              Plot.Bar(
                name: $0.plan, value: Double($0.sum.overCapAccountCount),
                label: $0.sum.overCapAccountCount.grouped)
            }),
        ], report.storage)
  }

  private func section(_ title: String, _ plots: [String], _ table: Table) -> String {
    """
    <section>
    <h2>\(HTML.text(title))</h2>
    <div class="plots">
    \(plots.joined())</div>
    \(table.isEmpty ? "" : table.html)</section>

    """
  }
}

extension Segment {
  /// `premium, stripe, month`
  fileprivate var name: String {
    "\(plan ?? "unknown"), \(store)" + (period == .other ? "" : ", \(period.rawValue)")
  }
}
