internal import Accounts
internal import Acts
internal import Answers
internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import KnownStores
internal import Ledger
internal import Report
internal import Storage
internal import Sync
internal import Tiers

extension Command {
  private static let month = Parameter<Month?>.optional(
    "--month", "month",
    text:
      "month in UTC, e.g. 2026-10; the running month to date (default: the last full month)",
    .month)
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
    answers: ReportJSON.shape,
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
          let bytes = Array(ReportPage(figures).text.utf8)
          if invocation[force] {
            try OutputFile.replace(path, with: bytes)
          } else {
            try OutputFile.write(bytes, to: path)
          }
        }
        return Answer(
          text: ReportText(figures).text, json: ReportJSON.value(figures),
          notice: path.map { "the page is in \($0)" })
      }
    })

  /// The requested month, or the last one that is over.
  private static func begunMonth(_ asked: Month?, at now: Instant) throws -> Month {
    let running = Month(of: now)
    guard let asked else { return running.adding(-1) }
    guard asked <= running else {
      throw CommandFailure(.refused, "\(asked) has not begun; the running month is \(running)")
    }
    return asked
  }
}

extension Form where Value == Month {
  fileprivate static var month: Form {
    Form { (text, name) throws(CommandFailure) in
      if let month = Month(text) { return month }
      throw CommandFailure(.usage, "\(name) takes a month like 2026-10")
    }
  }
}

/// All figures of a report.
struct ReportFigures {
  private(set) var month: MonthlyReport
  private(set) var storage: StorageFigures
  let made: Instant
  let catalogue: Catalogue
  let environment: String

  /// Reads the figures in one snapshot.
  init(
    _ month: Month, at now: Instant, _ configuration: DatabaseConfiguration, of database: Database
  ) throws {
    made = now
    catalogue = configuration.catalogue
    environment = configuration.grantingEnvironment.rawValue
    self.month = MonthlyReport(month, at: now)
    storage = StorageFigures(at: now, opened: month.start..<self.month.end, catalogue)
    try read(of: Ledger(stores: .known, rules: LedgerRules(configuration), for: .command), database)
    if let began = self.month.began, month.end <= began {
      throw CommandFailure(
        .refused, "there is no data for \(month): the ledger begins in \(Month(of: began))")
    }
  }

  private mutating func read(of ledger: Ledger, _ database: Database) throws {
    try database.read { reader in
      let progress = Progress(
        "reading", .count(of: "subscriptions"), of: try SubscriberPages.count(reader))
      var pages = try SubscriberPages(of: ledger, at: made, reading: reader)
      while let page = try pages.next() {
        for subscriber in page { month.add(subscriber) }
        progress.done = pages.readCount
      }
      let weighed = Progress("weighing", .count(of: "accounts"), of: try Account.count(reader))
      while try storage.readPage(reader) { weighed.done = storage.total.accountCount }
    }
  }

  /// `November 2026`, with a note if the month is not over.
  var title: String { month.month.title + (month.toDate == nil ? "" : " to date") }

  /// The segments in ascending order.
  var segments: [(segment: Segment, movement: MonthlyReport.Movement)] {
    month.segments.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The revenue in a currency, by segment in ascending order.
  func revenue(
    in currency: String
  ) -> [(segment: Segment, revenue: MonthlyReport.Revenue)] {
    (month.revenue[currency] ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The ways in which subscribers were lost, the most frequent first.
  var reasons: [(reason: CapReason, count: Int64)] {
    month.reasons.sorted { (-$0.value, $0.key.precedence) < (-$1.value, $1.key.precedence) }
      .map { ($0.key, $0.value) }
  }

  /// The storage by plan; the plan with the most accounts comes first.
  var storageOfPlans: [(plan: String, sum: StorageFigures.Sum)] {
    storage.plans.sorted { (-$0.value.accountCount, $0.key) < (-$1.value.accountCount, $1.key) }
      .map { ($0.key, $0.value) }
  }

  /// The indices of the months of which anything can be known, and at least of the last two.
  var known: Range<Int> {
    let count = month.months.count
    let first = month.began.flatMap { began in month.months.firstIndex { began < $0.end } }
    return min(first ?? count, count - 2)..<count
  }

  /// Whether the month of an index is not over.
  func isToDate(_ index: Int) -> Bool {
    month.toDate != nil && index == month.months.count - 1
  }

  /// The figures of the month, and of the one before it.
  var movement: MonthlyReport.Movement { month.movements[month.movements.count - 1] }
  var movementBefore: MonthlyReport.Movement { month.movements[month.movements.count - 2] }
  var trials: MonthlyReport.Trials { month.trials[month.trials.count - 1] }
  var failures: MonthlyReport.Failures { month.failures[month.failures.count - 1] }
  var failuresBefore: MonthlyReport.Failures { month.failures[month.failures.count - 2] }
}

/// A part of a whole for people, in tenths of a percent.
struct Portion {
  let part: Int64
  let whole: Int64

  /// Nil if the whole is nothing.
  var permille: Int64? { whole > 0 ? (part * 2000 + whole) / (2 * whole) : nil }

  /// `3.2 %`, or `-` if the whole is nothing.
  var text: String { permille.map { "\($0 / 10).\($0 % 10) %" } ?? "-" }
}

extension MonthlyReport.Movement {
  /// The number of lost subscribers, as a part of the number at the beginning.
  var churn: Portion { Portion(part: lost, whole: opening) }
}

extension MonthlyReport.Failures {
  /// The part of the decided failed payments that arrived after all.
  var recovery: Portion { Portion(part: recovered, whole: recovered + lost) }
}
