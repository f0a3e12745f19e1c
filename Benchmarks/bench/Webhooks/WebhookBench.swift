import Base
import Configuration
import TestFiles
import Tiers

/// Durable, verified webhooks of each store a second, compared with the alternatives.
///
/// All servers answer the same kind of requests from the same generator, one after the other.
struct WebhookBench {
  static let files = "ops/bench.d"
  static let python = ".build/bench-venv/bin/python"

  /// One store's contribution to the report.
  struct Part {
    var facts: [(name: String, value: String)] = []
    var rows: [Report.Row] = []
    var figures: [Figure] = []
    var costs: [Breakdown] = []
  }

  let options: Options
  let workspace: Workspace

  func report() throws(BenchError) -> Report {
    var report = Report(subject: .webhooks, facts: try Machine(workspace, options).facts)
    if let build = options.against {
      report.facts.append(
        ("compared with", "\(build), by turns in \(SideBySide.roundCount) rounds for each")
      )
    }
    for store in options.stores {
      let part =
        switch store {
        case .stripe: try StripeWebhooks(options, workspace).measure()
        case .apple: try AppleWebhooks(options, workspace).measure()
        case .google: try GoogleWebhooks(options, workspace).measure()
        }
      report.facts += part.facts
      report.rows += part.rows
      report.figures += part.figures
      report.notes += part.rows.flatMap(\.notes)
      report.costs += part.costs
    }
    if !options.measuresOursOnly { report.facts.append(("peers", try peerVersions())) }
    return report
  }

  /// The plans that the servers sell.
  static func catalogue() throws(BenchError) -> Catalogue {
    let path = "\(files)/catalogue.json"
    guard let text = Files.text(path) else { throw .system("read \(path)", errno: 2) }
    do { return try CatalogueFile.catalogue(of: Array(text.utf8)) } catch {
      throw .command("\(path): \(error)")
    }
  }

  private func peerVersions() throws(BenchError) -> String {
    try workspace.output(
      Self.python, "-c",
      """
      import platform, importlib.metadata as m
      print(f"Python {platform.python_version()}", *(f"{n} {m.version(n)}" for n in
            ("uvicorn", "uvloop", "httptools", "fastapi", "stripe", "app-store-server-library",
             "cryptography")), sep=", ", end="")
      """)
  }
}

extension Instant {
  /// The time of the machine's clock.
  static var now: Instant { Clock.system.now() }
}

extension Report.Row {
  /// Notes that a reader must know before trusting the row.
  var notes: [String] {
    var notes: [String] = []
    if outcome.ranOut {
      notes.append(
        "\(server) used up the prepared requests; its rate is of the time until then "
          + "(--requests prepares more)")
    }
    if outcome.nanoseconds.last == .max {
      notes.append("\(server) was slower than can be told: 4294.97 ms stands for anything above")
    }
    if let refusal = outcome.firstRefusal { notes.append("\(server) refused: \(refusal)") }
    if let storedCount, storedCount != outcome.succeeded {
      notes.append("\(server) acknowledged \(outcome.succeeded) and kept \(storedCount)")
    }
    return notes
  }
}
