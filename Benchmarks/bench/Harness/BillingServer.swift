import Base
import Crypto

/// A `coffer-billing` with an empty SQLite database, which gets load in rounds and is then counted.
final class BillingServer {
  private let process: ServerProcess
  private let directory: String
  private let metricsPort: UInt16
  private let workspace: Workspace
  /// The outcome of all rounds so far.
  private var outcome: Load.Outcome?

  /// `name` distinguishes its files from those of the other servers; `settings` name the stores. `build` is
  /// the directory of its program (default: this build's).
  init(
    _ name: String, _ settings: [String: String], _ workspace: Workspace, build: String? = nil
  ) throws(BenchError) {
    self.workspace = workspace
    let directory = try workspace.directory(name)
    let metricsPort = try ServerProcess.freePort()
    let common = [
      "COFFER_DATABASE": "sqlite://\(directory)",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(metricsPort)",
      "COFFER_PLANS": "\(WebhookBench.files)/catalogue.json",
      "COFFER_SEALING_KEYS": Base64.standard.encode(Random.bytes(32)),
    ]
    process = try ServerProcess(
      log: workspace.file("\(name).log"), environment: common.merging(settings) { $1 }
    ) { _ in
      [build.map { "\($0)/coffer-billing" } ?? workspace.program("coffer-billing")]
    } settings: { port in
      ["COFFER_BILLING_LISTEN": "127.0.0.1:\(port)"]
    }
    self.directory = directory
    self.metricsPort = metricsPort
  }

  var port: UInt16 { process.port }

  /// Runs one round of the load, with requests that the server has not seen.
  ///
  /// The first request is sent once before, so that the server has already looked up what it needs.
  func run(_ load: Load, _ requests: Requests) throws(BenchError) {
    guard let before = outcome else {
      try load.deliver(requests.prefix(1), to: process)
      outcome = try load.run(requests, to: process, repeats: false)
      return
    }
    outcome = before.adding(
      try load.run(requests, from: before.next, to: process, repeats: false))
  }

  /// Stops the server and counts what it kept.
  func end(
    _ title: String
  ) throws(BenchError) -> (row: Report.Row, batches: Scrape) {
    guard let outcome else { throw .server("\(title) had no load") }
    let metrics = try Scrape(port: metricsPort)
    process.stop()
    let stored = try workspace.rowCount("\(directory)/billing.db", "deliveries")
    return (Report.Row(server: title, outcome: outcome, storedCount: stored), metrics)
  }
}

/// This build under load, by turns with the build that it is compared with, so that a machine whose speed
/// drifts affects both.
struct SideBySide {
  static let roundCount = 2

  let ours: Report.Row
  let metrics: Scrape
  /// Nil if there is nothing to compare with.
  let other: Report.Row?

  /// `name` and `settings` are those of a `BillingServer`.
  init(
    _ title: String, _ name: String, _ settings: [String: String], _ requests: Requests,
    _ options: Options, _ workspace: Workspace
  ) throws(BenchError) {
    let server = try BillingServer(name, settings, workspace)
    guard let build = options.against else {
      try server.run(Load(options), requests)
      (ours, metrics) = try server.end(title)
      other = nil
      return
    }
    let rival = try BillingServer("\(name)-against", settings, workspace, build: build)
    for round in 0..<Self.roundCount {
      for each in round.isMultiple(of: 2) ? [server, rival] : [rival, server] {
        try each.run(Load(options, parts: Self.roundCount), requests)
      }
    }
    (ours, metrics) = try server.end(title)
    other = try rival.end("\(title), of \(build)").row
  }

  var rows: [Report.Row] { [ours] + (other.map { [$0] } ?? []) }

  /// Our rate as a multiple of the other build's.
  func figures(_ name: String, _ what: String, aim: Double) -> [Figure] {
    guard let other else { return [] }
    return [
      .ratio(
        name, ours.outcome.perSecond / max(1, other.outcome.perSecond),
        "times the \(what) a second of the build it is compared with", aim: aim)
    ]
  }
}
