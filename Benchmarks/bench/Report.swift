internal import JSON

/// What a run prints: the machine, a row for each server or each thing timed, and the figures.
struct Report {
  /// One server under load.
  struct Row {
    let server: String
    let outcome: Load.Outcome
    /// Rows in its database afterwards; nil for a server that keeps none.
    var storedCount: Int?

    /// What was acknowledged must be there, once.
    var isWhole: Bool {
      outcome.refusedCount == 0 && (storedCount ?? outcome.succeeded) == outcome.succeeded
    }
  }

  let subject: Options.Subject
  var facts: [(name: String, value: String)]
  var rows: [Row] = []
  var timings: [Timing] = []
  var figures: [Figure] = []
  var notes: [String] = []

  var isWhole: Bool { rows.allSatisfy(\.isWhole) }

  /// Whether nothing went wrong. What file trees and attacks may cost is a promise; other aims are wishes.
  var isGood: Bool {
    isWhole
      && (subject != .tree && subject != .worst || figures.allSatisfy { $0.isReached ?? true })
  }

  var text: String {
    var lines = ["ops/bench \(subject.rawValue)", ""]
    let width = facts.map(\.name.count).max() ?? 0
    lines += facts.map { "  " + Self.padded($0.name, width) + "  " + $0.value }
    lines.append("")
    if !rows.isEmpty { lines += Self.table(serverCells) + [""] }
    if !timings.isEmpty { lines += Self.table([Timing.columns] + timings.map(\.cells)) + [""] }
    lines += figures.map { figure in
      let verdict = figure.isReached.map { $0 ? "  reached" : "  MISSED" } ?? ""
      return "  " + figure.text + verdict
    }
    lines += notes.map { "  note: " + $0 }
    return lines.joined(separator: "\n")
  }

  /// The head and a line for each server.
  private var serverCells: [[String]] {
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

  private static func table(_ cells: [[String]]) -> [String] {
    let widths = cells[0].indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
    return cells.map { row in
      "  "
        + row.indices.map { column in
          padded(row[column], widths[column], right: column > 0)
        }.joined(separator: "  ")
    }
  }

  var json: String {
    let value: JSONValue = [
      "subject": .string(subject.rawValue),
      "machine": .object(facts.map { .init($0.name, .string($0.value)) }),
      "servers": .array(rows.map(Self.json)),
      "timings": .array(timings.map(\.json)),
      "figures": .array(figures.map(\.json)),
      "notes": .array(notes.map { .string($0) }),
      "whole": .bool(isWhole),
    ]
    return String(decoding: value.encoded(), as: UTF8.self)
  }

  private static func json(_ row: Row) -> JSONValue {
    let outcome = row.outcome
    return [
      "server": .string(row.server),
      "timed_count": .integer(Int64(outcome.timedCount)),
      "timed_milliseconds": .integer(Int64(outcome.timedSeconds * 1000)),
      "per_second": .integer(Int64(outcome.perSecond.rounded())),
      "p50_microseconds": .integer(Int64(outcome.microseconds(share: 0.5))),
      "p99_microseconds": .integer(Int64(outcome.microseconds(share: 0.99))),
      "max_microseconds": .integer(Int64(outcome.microseconds(share: 1))),
      "server_processor_nanoseconds_each": .integer(
        Int64(outcome.serverMicrosecondsEach * 1000)),
      "generator_processor_nanoseconds_each": .integer(
        Int64(outcome.generatorMicrosecondsEach * 1000)),
      "succeeded_count": .integer(Int64(outcome.succeeded)),
      "refused_count": .integer(Int64(outcome.refusedCount)),
      "stored_count": row.storedCount.map { .integer(Int64($0)) } ?? nil,
      "whole": .bool(row.isWhole),
    ]
  }

  private static func milliseconds(_ outcome: Load.Outcome, _ share: Double) -> String {
    Figure.decimal(Double(outcome.microseconds(share: share)) / 1000, places: 2)
  }

  private static func padded(_ text: String, _ width: Int, right: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - text.count))
    return right ? space + text : text + space
  }
}
