/// The output of a run: the machine, a row for each server or each thing timed, and the figures.
struct Report {
  /// One server under load.
  struct Row {
    let server: String
    let outcome: Load.Outcome
    /// Rows in its database afterwards; nil if the server keeps none.
    var storedCount: Int?

    /// Whether no request was refused, and each acknowledged one is stored once.
    var isWhole: Bool {
      outcome.refusedCount == 0 && (storedCount ?? outcome.succeeded) == outcome.succeeded
    }
  }

  let subject: Options.Subject
  var facts: [(name: String, value: String)]
  var rows: [Row] = []
  var timings: [Timing] = []
  var costs: [Breakdown] = []
  var answers: [QuestionAnswer] = []
  var figures: [Figure] = []
  var notes: [String] = []
  /// Errors of a subject that has no rows.
  var failures: [String] = []

  var isWhole: Bool { rows.allSatisfy(\.isWhole) && failures.isEmpty }

  /// Whether nothing went wrong. The aims of file trees, attacks and questions must be reached; other aims
  /// need not.
  var isGood: Bool {
    isWhole
      && (![.tree, .worst, .questions].contains(subject)
        || figures.allSatisfy { $0.isReached ?? true })
  }

  var text: String {
    var lines = ["ops/bench \(subject.rawValue)", ""]
    let width = facts.map(\.name.count).max() ?? 0
    lines += facts.map { "  " + Self.padded($0.name, width) + "  " + $0.value }
    lines.append("")
    if !rows.isEmpty { lines += Self.table(serverCells) + [""] }
    if !timings.isEmpty { lines += Self.table([Timing.columns] + timings.map(\.cells)) + [""] }
    if !costs.isEmpty { lines += Self.table(Breakdown.cells(costs)) + [""] }
    for cost in costs { lines += Self.table(cost.statementCells, text: 2) + [""] }
    for table in QuestionAnswer.tables(answers) { lines += Self.table(table) + [""] }
    lines += figures.map { figure in
      let verdict = figure.isReached.map { $0 ? "  reached" : "  MISSED" } ?? ""
      return "  " + figure.text + verdict
    }
    lines += failures.map { "  FAILED: " + $0 }
    lines += notes.map { "  note: " + $0 }
    return lines.joined(separator: "\n")
  }

  /// A header line, and a line for each server.
  var serverCells: [[String]] {
    let head = [
      "server", "timed", "per second", "p50 ms", "p99 ms", "max ms", "cpu µs", "generator µs",
      "2xx", "other", "stored",
    ]
    return [head]
      + rows.map { row in
        [
          row.server, "\(row.outcome.timedCount)", "\(Int(row.outcome.perSecond.rounded()))",
          Self.milliseconds(row.outcome, 0.5), Self.milliseconds(row.outcome, 0.99),
          Self.milliseconds(row.outcome, 1),
          Figure.decimal(row.outcome.serverMicrosecondsEach, places: 1),
          Figure.decimal(row.outcome.generatorMicrosecondsEach, places: 1),
          "\(row.outcome.succeeded)", "\(row.outcome.refusedCount)",
          row.storedCount.map(String.init) ?? "-",
        ]
      }
  }

  /// Numbers are aligned right, the column of text left.
  private static func table(_ cells: [[String]], text: Int = 0) -> [String] {
    let widths = cells[0].indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
    return cells.map { row in
      "  "
        + row.indices.map { column in
          padded(row[column], widths[column], right: column != text)
        }.joined(separator: "  ")
    }
  }

  private static func milliseconds(_ outcome: Load.Outcome, _ share: Double) -> String {
    Figure.decimal(Double(outcome.microseconds(share: share)) / 1000, places: 2)
  }

  private static func padded(_ text: String, _ width: Int, right: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - text.count))
    return right ? space + text : text + space
  }
}
