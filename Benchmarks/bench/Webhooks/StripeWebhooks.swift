import Base
import Crypto

/// Durable, verified Stripe webhooks a second, compared with a bare server and a Python service.
struct StripeWebhooks {
  private static let bare = ".build/bench-bare"
  /// Enough requests that the bare server finds none of them in its own cache.
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

  func measure() throws(BenchError) -> WebhookBench.Part {
    let bare = options.measuresOursOnly ? nil : try measureBare()
    let ours = try measureOurs()
    let cost = try cost(of: ours)
    let peer = options.measuresOursOnly ? nil : try measurePeer()
    return WebhookBench.Part(
      facts: [
        ("Stripe event", "\(try events().bodyByteCount) bytes, all different"),
        ("Stripe batches", ours.metrics.groups),
      ],
      rows: [bare].compactMap { $0 } + ours.rows + [peer].compactMap { $0 },
      figures: Self.figures(bare?.outcome, ours.ours.outcome, peer?.outcome)
        + ours.figures("ratio_to_against", "Stripe events", aim: 2)
        + (try DiskLimit(cost, workspace).figures("stripe", ours.ours.outcome)),
      costs: [cost])
  }

  private static func figures(
    _ bare: Load.Outcome?, _ ours: Load.Outcome, _ peer: Load.Outcome?
  ) -> [Figure] {
    var figures: [Figure] = [
      .rate("webhooks", ours.perSecond, "Stripe events verified and durable in coffer-billing")
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
        .rate("python_webhooks", peer.perSecond, "Stripe events verified and durable in FastAPI"),
        .ratio(
          "ratio_to_python", ours.perSecond / max(1, peer.perSecond),
          "times the Python service", aim: 20),
      ]
    }
    return figures
  }

  private func events() throws(BenchError) -> StripeEvents {
    try StripeEvents(
      directory: WebhookBench.files, secret: Secret(secret), seed: options.seed)
  }

  /// Signed as late as possible: a signature holds for five minutes.
  private func requests(_ count: Int) throws(BenchError) -> Requests {
    let now = Instant.now
    return try events().requests(count, now: now)
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
        WebhookBench.python, "-m", "uvicorn", "--app-dir", WebhookBench.files, "fastapi_peer:app",
        "--port",
        "\(port)", "--no-access-log", "--log-level", "warning",
      ]
    }
    let outcome = try load.run(requests(options.requestCount), to: server, repeats: false)
    server.stop()
    return Report.Row(
      server: "uvicorn + FastAPI, Stripe", outcome: outcome,
      storedCount: try workspace.rowCount(database, "deliveries"))
  }

  private func measureOurs() throws(BenchError) -> SideBySide {
    try SideBySide(
      "coffer-billing, Stripe", "stripe",
      [
        "COFFER_STRIPE_WEBHOOK_SECRETS": secret,
        // Only the kind of the key matters: the events are of test mode, which must grant here.
        "COFFER_STRIPE_API_KEY": "sk_test_unused",
      ], requests(options.requestCount), options, workspace)
  }

  private func cost(of ours: SideBySide) throws(BenchError) -> Breakdown {
    try WebhookCost(workspace, WebhookBench.catalogue()).measure(
      .stripe(events(), secret: Secret(secret)), ours)
  }
}
