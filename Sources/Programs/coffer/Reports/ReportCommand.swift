import Acts
import Base
import CommandLine
import Configuration
import Report

extension Command {
  private static let month = Parameter<Month?>.optional(
    "--month", "month",
    text: "month in UTC, e.g. 2026-10; the running month to date (default: the last full month)",
    Form({ Month($0) }, refusal: { "\($1) takes a month like 2026-10" }))
  private static let page = Parameter<String?>.optional(
    "--html", "file", text: "also write a self-contained HTML page with plots", .path)
  private static let force = Parameter<Bool>.flag(
    "--force", text: "with --html, overwrite an existing file")

  static let report = Command(
    words: ["report"],
    abstract: "Report subscribers, revenue, churn and storage of a month",
    discussion: """
      Every figure comes from the ledger and from the payments that stores reported, never from catalogue \
      prices. docs/report.md defines each figure. The running month is reported to date. A month is \
      reported as it is known today, so late deliveries change it. Currencies are not added up. The \
      stores' commissions are not known here. Storage is as of now.

      All subscriptions are read in one snapshot while the servers run, with progress on stderr.
      """,
    examples: [
      "coffer report --month 2026-10",
      "coffer report --html report.html",
    ],
    options: [month, page, force],
    answers: ReportColumns.report.item,
    run: { invocation in
      let path = invocation[page]
      guard path != nil || !invocation[force] else {
        throw CommandFailure(.usage, "--force is for --html")
      }
      guard path != "-" else {
        throw CommandFailure(.usage, "--html takes a file: the tables go to standard output")
      }
      if let path, !invocation[force] { try OutputFile.requireNew(path) }
      return try DatabaseSession.with(invocation, options: DatabaseSession.wholeReads) {
        database, configuration in
        let now = configuration.clock.now()
        let month = try begunMonth(invocation[month], at: now)
        let figures = try ReportFigures(month, at: now, configuration, of: database)
        if let path {
          let bytes = Array(ReportPage(figures: figures).text.utf8)
          if invocation[force] {
            try OutputFile.replace(path, with: bytes)
          } else {
            try OutputFile.write(bytes, to: path)
          }
        }
        return Answer(
          text: ReportText(figures: figures).text, json: ReportColumns.report.json(figures),
          notice: path.map { "the page is in \($0)" })
      }
    })

  private static func begunMonth(_ asked: Month?, at now: Instant) throws -> Month {
    let running = Month(of: now)
    guard let asked else { return running.adding(-1) }
    guard asked <= running else {
      throw CommandFailure(.refused, "\(asked) has not begun; the running month is \(running)")
    }
    return asked
  }
}
