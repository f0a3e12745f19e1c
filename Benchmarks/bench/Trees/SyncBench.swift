import Base
import Crypto

/// Signed, durable content writes a second, compared with what checking their signatures alone allows.
struct SyncBench {
  private static let contentByteCount = 4096

  private let options: Options
  private let workspace: Workspace
  private let load: Load

  init(_ options: Options, _ workspace: Workspace) {
    self.options = options
    self.workspace = workspace
    load = Load(options)
  }

  func report() throws(BenchError) -> Report {
    var report = Report(subject: .sync, facts: try Machine(workspace, options).facts)
    let openssl = try opensslVerificationsPerSecond()
    let wrapped = Self.verificationsPerSecond()
    let clients = SyncClients(options)
    let ours = try measure(clients, &report)
    report.facts.append(
      (
        "writes",
        "\(Self.contentByteCount) bytes each, to \(options.accountCount) accounts' "
          + "\(clients.documentCount) documents in turn"
      ))
    report.rows.append(ours)
    report.notes = ours.notes
    report.figures = [
      .rate("openssl_verifications", openssl, "Ed25519 checks by OpenSSL on one core"),
      .rate("our_verifications", wrapped, "of them through the Crypto module"),
      .rate("writes", ours.outcome.perSecond, "signed content writes, durable, in coffer-sync"),
      .ratio(
        "ratio_to_openssl", ours.outcome.perSecond / max(1, openssl), "of OpenSSL's own checks",
        aim: 0.35),
    ]
    return report
  }

  private func measure(
    _ clients: SyncClients, _ report: inout Report
  ) throws(BenchError) -> Report.Row {
    let directory = try workspace.directory("sync")
    let objects = try workspace.directory("objects")
    let metricsPort = try ServerProcess.freePort()
    let server = try ServerProcess(
      log: workspace.file("sync.log"),
      environment: [
        "COFFER_DATABASE": "sqlite://\(directory)", "COFFER_OBJECTS": "file://\(objects)",
        "COFFER_METRICS_LISTEN": "127.0.0.1:\(metricsPort)",
        "COFFER_PLANS": "\(WebhookBench.files)/catalogue.json",
        "COFFER_SYNC_AUTHORITIES": SyncClients.authority,
        "COFFER_REQUESTS_BURST": "1000000", "COFFER_REQUESTS_PER_SECOND": "1000000",
      ]
    ) { _ in
      [workspace.program("coffer-sync")]
    } settings: { port in
      ["COFFER_SYNC_LISTEN": "127.0.0.1:\(port)"]
    }
    try load.deliver(clients.accountRequests(now: .now), to: server)
    let owners = try workspace.identifiers("\(directory)/sync.db", "root_id", "id", of: "accounts")
    try load.deliver(clients.documentRequests(owners: owners, now: .now), to: server)
    let writes = clients.writeRequests(
      options.requestCount, byteCount: Self.contentByteCount, now: .now)
    let outcome = try load.run(writes, to: server, repeats: false)
    report.facts.append(("our batches", try Scrape(port: metricsPort).batches))
    server.stop()
    let stored = try workspace.rowCount(
      "\(directory)/sync.db", "usage_entries WHERE reason = 'content_changed'")
    return Report.Row(server: "coffer-sync", outcome: outcome, storedCount: stored)
  }

  /// Measured by OpenSSL itself, which counts processor time of one core.
  private func opensslVerificationsPerSecond() throws(BenchError) -> Double {
    let text = try workspace.output("openssl", "speed", "-seconds", "2", "ed25519")
    let line = text.split(separator: "\n").last { $0.contains("Ed25519") && $0.contains(" bits ") }
    guard let rate = line?.split(separator: " ").last.flatMap({ Double($0) }) else {
      throw .command("openssl speed printed no rate:\n\(text)")
    }
    return rate
  }

  /// The same through our wrapper, which parses a new public key each time.
  private static func verificationsPerSecond() -> Double {
    let key = Ed25519PrivateKey()
    let message = Random.bytes(300)
    let signature = key.signature(for: message)
    let start = MonotonicTime.now()
    var count = 0
    while MonotonicTime.now().seconds(since: start) < 1 {
      precondition(key.publicKey.isValid(signature: signature, for: message))
      count += 1
    }
    return Double(count) / MonotonicTime.now().seconds(since: start)
  }
}
