import Accounts
import Acts
import Base
import CommandLine
import Configuration
import Report
import Tiers

/// A month's figures as a page: one file that needs nothing else, for light and dark displays and for paper.
struct ReportPage {
  let figures: ReportFigures

  var text: String {
    let title = "Coffer in \(figures.month.title)"
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
    let (month, monthBefore) = (figures.month.current, figures.month.previous)
    let (now, before) = (month.movement, monthBefore.movement)
    return [
      Tile(
        title: "Subscribers", value: now.closing.grouped,
        change: change(now.closing - before.closing)), money,
      Tile(
        title: "New and returned", value: now.came.grouped, change: change(now.came - before.came)),
      Tile(
        title: "Churn", value: now.churn.text,
        change: points(now.churn.permille, before.churn.permille)),
      Tile(
        title: "Failed payments recovered", value: month.failures.recovery.text,
        change: points(month.failures.recovery.permille, monthBefore.failures.recovery.permille)),
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
    let report = ReportText(figures: figures)
    let known = figures.month.known
    let months = known.map(\.month.description)
    var html = section(
      "Subscribers",
      [
        Plot.line(
          "Subscribers at the end of each month", months, known.map { Double($0.movement.closing) }
        ) { Int64($0).grouped },
        Plot.bars(
          "At the end of the month, by plan, store and interval",
          figures.month.sortedSegments.filter { $0.movement.closing > 0 }.map {
            Plot.Bar(
              $0.segment.name, Double($0.movement.closing), label: $0.movement.closing.grouped)
          }),
      ], report.subscribers)
    html += section(
      "Coming and going",
      [
        Plot.upAndDown(
          "Who came (up) and who was lost (down)", months,
          up: known.map(\.movement.came), down: known.map(\.movement.lost)),
        Plot.bars(
          "Why they were lost",
          figures.month.sortedReasons.map {
            Plot.Bar(
              $0.reason.rawValue.replacing("_", with: " "), Double($0.count),
              label: $0.count.grouped)
          }),
      ], report.reasons)
    for currency in figures.month.currencies {
      let series = known.flatMap(\.revenue).filter { $0.currency == currency }.map(\.revenue.net)
      html += section(
        "Revenue in \(currency)",
        [
          Plot.line(
            "Net revenue of each month, \(currency)", months, series.map(\.approximate)
          ) { value in
            series.first { $0.approximate == value }?.money(in: currency).amount ?? ""
          },
          Plot.bars(
            "Net in the month, by plan, store and interval",
            figures.month.segments(of: currency).filter { $0.revenue.net > .zero }.map {
              Plot.Bar(
                $0.segment.name, $0.revenue.net.approximate,
                label: $0.revenue.net.money(in: currency).amount)
            }),
        ], report.revenue(in: currency))
    }
    html += section(
      "Trials",
      [
        Plot.upAndDown(
          "After which people subscribed (up) and did not (down)", months,
          up: known.map(\.trials.converted), down: known.map(\.trials.ended))
      ], report.trials)
    html += section(
      "Failed payments",
      [
        Plot.upAndDown(
          "Which recovered (up) and did not (down)", months,
          up: known.map(\.failures.recovered), down: known.map(\.failures.lost))
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
                $0.plan, Double($0.sum.usageByteCount),
                label: ByteCount.text($0.sum.usageByteCount))
            }),
          Plot.bars(
            "Accounts over their cap, by plan",
            figures.storageOfPlans.filter { $0.sum.overCapAccountCount > 0 }.map {
              Plot.Bar(
                $0.plan, Double($0.sum.overCapAccountCount),
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
