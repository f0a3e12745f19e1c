import Base
import Glibc

/// Durable, verified App Store notifications a second, compared with OpenSSL's own checks, with a Python
/// service on Apple's library, and with ourselves under a flood of forgeries.
struct AppleWebhooks {
  /// The notification, its transaction and its renewal info.
  private static let signatureCount = 3.0
  /// More than any machine of today can process; each has 18 kB.
  private static let requestCountMax = 80_000
  private static let peerRequestCountMax = 16_000

  private let options: Options
  private let workspace: Workspace
  private let load: Load
  private let notifications = AppleNotifications(now: .now)

  init(_ options: Options, _ workspace: Workspace) {
    self.options = options
    self.workspace = workspace
    load = Load(options)
  }

  func measure() throws(BenchError) -> WebhookBench.Part {
    let root = try workspace.write(notifications.root, "root.der")
    let openssl = try opensslVerificationsPerSecond()
    let requests = notifications.requests(min(options.requestCount, Self.requestCountMax))
    let ours = try SideBySide(
      "coffer-billing, App Store", "apple", settings(root), requests, options, workspace)
    let cost = try WebhookCost(workspace, WebhookBench.catalogue())
      .measure(.apple(notifications), ours)
    let (flooded, flood) = try measureFlooded(requests, root)
    let peer = options.measuresOursOnly ? nil : try measurePeer(requests, root)
    return WebhookBench.Part(
      facts: [
        ("App Store notification", "\(notifications.bodyByteCount) bytes, all different"),
        ("App Store batches", ours.metrics.groups),
        ("flood", flood.description),
      ],
      rows: ours.rows + [flooded, peer].compactMap { $0 },
      figures: figures(ours.ours.outcome, flooded.outcome, peer?.outcome, openssl: openssl)
        + ours.figures("apple_ratio_to_against", "App Store notifications", aim: 1.8)
        + (try DiskLimit(cost, workspace).figures("apple", ours.ours.outcome)),
      costs: [cost])
  }

  private func settings(_ root: String) -> [String: String] {
    [
      "COFFER_MODE": "test", "COFFER_APPLE_ROOT_FILE": root,
      "COFFER_APPLE_BUNDLE_ID": AppleNotifications.bundleID,
      "COFFER_APPLE_APP_ID": "\(AppleNotifications.appID)",
      "COFFER_TRUSTED_PROXIES": "127.0.0.1",
    ]
  }

  private func measureFlooded(
    _ requests: Requests, _ root: String
  ) throws(BenchError) -> (Report.Row, Flood.Outcome) {
    let server = try BillingServer("apple-flooded", settings(root), workspace)
    let forged = notifications.requests(
      Flood.requestCount, from: Self.requestCountMax, forgedBy: "203.0.113.9")
    let flood = Flood(forged, port: server.port)
    try server.run(Load(options), requests)
    let row = try server.end("… beside a flood").row
    return (row, flood.stop())
  }

  private func measurePeer(
    _ requests: Requests, _ root: String
  ) throws(BenchError) -> Report.Row {
    let database = workspace.file("apple-peer.db")
    let server = try ServerProcess(
      log: workspace.file("apple-peer.log"),
      environment: [
        "BENCH_ROOT": root, "BENCH_DATABASE": database,
        "BENCH_BUNDLE": AppleNotifications.bundleID, "BENCH_APP": "\(AppleNotifications.appID)",
      ]
    ) { port in
      [
        WebhookBench.python, "-m", "uvicorn", "--app-dir", WebhookBench.files, "apple_peer:app",
        "--port", "\(port)", "--no-access-log", "--log-level", "warning",
      ]
    }
    let outcome = try load.run(
      requests.prefix(Self.peerRequestCountMax), to: server, repeats: false)
    server.stop()
    return Report.Row(
      server: "uvicorn + FastAPI, App Store", outcome: outcome,
      storedCount: try workspace.rowCount(database, "deliveries"))
  }

  private func figures(
    _ ours: Load.Outcome, _ flooded: Load.Outcome, _ peer: Load.Outcome?, openssl: Double
  ) -> [Figure] {
    let each = Self.signatureCount / max(1, openssl)
    let cores = Double(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    var figures: [Figure] = [
      .rate("openssl_p256", openssl, "P-256 checks by OpenSSL on one core"),
      .rate(
        "apple_notifications", ours.perSecond, "App Store notifications verified and durable"),
      .ratio(
        "apple_ratio_to_openssl", each * 1e6 / max(1, ours.serverMicrosecondsEach),
        "of what three signatures each allow on the cores that coffer-billing used", aim: 0.3),
      Figure(
        name: "apple_ratio_to_all_cores_thousandths",
        value: Int(ours.perSecond * each / cores * 1000),
        text: "\(Figure.decimal(ours.perSecond * each / cores, places: 3)) of what they allow on "
          + "all \(Int(cores)), the generator's time included"),
    ]
    if let peer {
      figures += [
        .rate("apple_python", peer.perSecond, "in FastAPI with Apple's library"),
        .ratio(
          "apple_ratio_to_python", ours.perSecond / max(1, peer.perSecond),
          "times the Python service", aim: 10),
      ]
    }
    return figures + [
      .rate("apple_flooded", flooded.perSecond, "legitimate ones beside a flood of forged ones"),
      Self.latency("apple_p99", ours, "without the flood"),
      Self.latency("apple_flooded_p99", flooded, "beside it"),
    ]
  }

  private static func latency(_ name: String, _ outcome: Load.Outcome, _ when: String) -> Figure {
    let value = outcome.microseconds(share: 0.99)
    return Figure(
      name: "\(name)_microseconds", value: value,
      text: "\(Figure.decimal(Double(value) / 1000, places: 1)) ms for 99 % of them \(when)")
  }

  /// Measured by OpenSSL itself, which counts processor time of one core.
  private func opensslVerificationsPerSecond() throws(BenchError) -> Double {
    let text = try workspace.output("openssl", "speed", "-seconds", "2", "ecdsap256")
    let line = text.split(separator: "\n").last { $0.contains("nistp256") && $0.contains(" bits ") }
    guard let rate = line?.split(separator: " ").last.flatMap({ Double($0) }) else {
      throw .command("openssl speed printed no rate:\n\(text)")
    }
    return rate
  }
}
