internal import Base
internal import Crypto

/// A `coffer-billing` with an empty SQLite database, under load and then counted.
struct BillingServer {
  private let process: ServerProcess
  private let directory: String
  private let metricsPort: UInt16
  private let workspace: Workspace

  /// `name` tells its files from those of the other servers; `settings` name one store.
  init(
    _ name: String, _ settings: [String: String], _ workspace: Workspace
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
      [workspace.program("coffer-billing")]
    } settings: { port in
      ["COFFER_BILLING_LISTEN": "127.0.0.1:\(port)"]
    }
    self.directory = directory
    self.metricsPort = metricsPort
  }

  var port: UInt16 { process.port }

  /// Runs the load, stops the server and counts what it kept.
  ///
  /// The first request is sent once before: what the server has to look up then, it knows later.
  func measure(
    _ title: String, _ load: Load, _ requests: Requests
  ) throws(BenchError) -> (row: Report.Row, batches: String) {
    try load.deliver(requests.prefix(1), to: process)
    let outcome = try load.run(requests, to: process, repeats: false)
    let batches = try Scrape(port: metricsPort).batches
    process.stop()
    let stored = try workspace.rowCount("\(directory)/billing.db", "deliveries")
    return (Report.Row(server: title, outcome: outcome, storedCount: stored), batches)
  }
}
