internal import Base
internal import Crypto

/// Durable, verified Stripe webhooks a second, beside a bare server and a Python service.
///
/// The three answer the same requests of the same generator, one server after the other.
struct WebhookBench {
  static let files = "ops/bench.d"
  private static let bare = ".build/bench-bare"
  private static let python = ".build/bench-venv/bin/python"
  /// Enough that the bare server finds none of them in a cache of its own.
  private static let bareRequestCount = 4096

  private let options: Options
  private let workspace: Workspace
  private let secret: String
  private let load: Load

  init(_ options: Options, _ workspace: Workspace) {
    self.options = options
    self.workspace = workspace
    secret = "whsec_" + Hex.encode(Random.bytes(24))
    load = Load(options)
  }

  func report() throws(BenchError) -> Report {
    var report = Report(subject: .webhooks, facts: try Machine(workspace, options).facts)
    report.facts.append(("event", "\(try events(at: .now).bodyByteCount) bytes, all different"))
    let bare = options.measuresOursOnly ? nil : try measureBare()
    let (ours, batches) = try measureOurs()
    let peer = options.measuresOursOnly ? nil : try measurePeer()
    if peer != nil { report.facts.append(("peer", try peerVersions())) }
    report.facts.append(("our batches", batches))
    report.rows = [bare, ours, peer].compactMap { $0 }
    report.figures = Self.figures(bare?.outcome, ours.outcome, peer?.outcome)
    report.notes = report.rows.flatMap(\.notes)
    return report
  }

  private func peerVersions() throws(BenchError) -> String {
    try workspace.output(
      Self.python, "-c",
      """
      import platform, importlib.metadata as m
      print(f"Python {platform.python_version()}", *(f"{n} {m.version(n)}" for n in
            ("uvicorn", "uvloop", "httptools", "fastapi", "stripe")), sep=", ", end="")
      """)
  }

  private static func figures(
    _ bare: Load.Outcome?, _ ours: Load.Outcome, _ peer: Load.Outcome?
  ) -> [Figure] {
    var figures: [Figure] = [
      .rate("webhooks", ours.perSecond, "webhooks verified and durable in coffer-billing")
    ]
    if let bare {
      figures += [
        .rate("bare_requests", bare.perSecond, "requests answered by bare libmicrohttpd"),
        .ratio(
          "ratio_to_bare", ours.perSecond / max(1, bare.perSecond), "of the bare server",
          aim: 0.1),
      ]
    }
    if let peer {
      figures += [
        .rate("python_webhooks", peer.perSecond, "webhooks verified and durable in FastAPI"),
        .ratio(
          "ratio_to_python", ours.perSecond / max(1, peer.perSecond),
          "times the Python service", aim: 20),
      ]
    }
    return figures
  }

  private func events(at now: Instant) throws(BenchError) -> StripeEvents {
    try StripeEvents(
      directory: Self.files, secret: Secret(secret), seed: options.seed, now: now)
  }

  /// Signed as late as possible: a signature holds for five minutes.
  private func requests(_ count: Int) throws(BenchError) -> Requests {
    let now = Instant.now
    return try events(at: now).requests(count, now: now)
  }

  private func measureBare() throws(BenchError) -> Report.Row {
    let server = try ServerProcess(log: workspace.file("bare.log")) { [Self.bare, "\($0)"] }
    let outcome = try load.run(requests(Self.bareRequestCount), to: server, repeats: true)
    return Report.Row(server: "bare libmicrohttpd", outcome: outcome)
  }

  private func measurePeer() throws(BenchError) -> Report.Row {
    let database = workspace.file("peer.db")
    let server = try ServerProcess(
      log: workspace.file("peer.log"),
      environment: ["BENCH_SECRET": secret, "BENCH_DATABASE": database]
    ) { port in
      [
        Self.python, "-m", "uvicorn", "--app-dir", Self.files, "fastapi_peer:app", "--port",
        "\(port)", "--no-access-log", "--log-level", "warning",
      ]
    }
    let outcome = try load.run(requests(options.requestCount), to: server, repeats: false)
    server.stop()
    return Report.Row(
      server: "uvicorn + FastAPI", outcome: outcome,
      storedCount: try workspace.rowCount(database, "deliveries"))
  }

  private func measureOurs() throws(BenchError) -> (Report.Row, batches: String) {
    let directory = try workspace.directory("billing")
    let metricsPort = try ServerProcess.freePort()
    let server = try ServerProcess(
      log: workspace.file("billing.log"),
      environment: [
        "COFFER_DATABASE": "sqlite://\(directory)",
        "COFFER_METRICS_LISTEN": "127.0.0.1:\(metricsPort)",
        "COFFER_PLANS": "\(Self.files)/catalogue.json",
        "COFFER_SEALING_KEYS": Base64.standard.encode(Random.bytes(32)),
        "COFFER_STRIPE_WEBHOOK_SECRETS": secret,
        // Only its kind matters: the events are of test mode, and here those are to grant.
        "COFFER_STRIPE_API_KEY": "sk_test_unused",
      ]
    ) { _ in
      [workspace.program("coffer-billing")]
    } settings: { port in
      ["COFFER_BILLING_LISTEN": "127.0.0.1:\(port)"]
    }
    let outcome = try load.run(requests(options.requestCount), to: server, repeats: false)
    let batches = try Scrape(port: metricsPort).batches
    server.stop()
    let stored = try workspace.rowCount("\(directory)/billing.db", "sources")
    return (
      Report.Row(server: "coffer-billing", outcome: outcome, storedCount: stored), batches
    )
  }
}

extension Instant {
  /// By the machine's clock.
  static var now: Instant { Clock.system.now() }
}

extension Report.Row {
  /// What a reader must know before believing the row.
  var notes: [String] {
    var notes: [String] = []
    if outcome.ranOut {
      notes.append(
        "\(server) used up the prepared requests; its rate is of the time until then "
          + "(--requests prepares more)")
    }
    if let refusal = outcome.firstRefusal { notes.append("\(server) refused: \(refusal)") }
    if let storedCount, storedCount != outcome.succeeded {
      notes.append("\(server) acknowledged \(outcome.succeeded) and kept \(storedCount)")
    }
    return notes
  }
}
