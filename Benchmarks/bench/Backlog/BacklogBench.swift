import Base
import Crypto
import JSON
import KnownStores
import Ledger

/// Days of many subscriptions' deliveries at once, while clients sync: how long it takes until every schedule
/// is correct, and how it affects the clients.
struct BacklogBench {
  private static let documentCount = 4

  private let options: Options
  private let workspace: Workspace
  private let progress = Progress("backlog")

  init(_ options: Options, _ workspace: Workspace) {
    self.options = options
    self.workspace = workspace
  }

  func report() throws(BenchError) -> Report {
    var report = Report(subject: .backlog, facts: try Machine(workspace, options).facts)
    let plan = BacklogPlan(options, now: .now)
    let directory = try workspace.directory("backlog")
    let sealingKey = Random.bytes(32)
    try fill(plan, directory, sealingKey, &report)
    progress.note("preparing \(FoldBench.grouped(plan.deliveries.count)) deliveries")
    let deliveries = BacklogDeliveries(now: plan.now)
    let check = try BacklogCheck(plan, "\(directory)/billing.db", workspace)
    let google = try BacklogGoogle(plan, deliveries.google)
    defer { google.stop() }
    let requests = try deliveries.requests(plan)
    let servers = BacklogRun.Servers(
      billing: try billing(directory, sealingKey, deliveries, google),
      sync: try sync(directory))
    let clients = SyncClients(
      accounts: options.clientCount, documentsEach: Self.documentCount, seed: options.seed)
    try prepare(clients, servers.sync, directory)
    report.facts.append(("size before", try size(of: directory)))
    let run = try BacklogRun(
      plan, requests, servers, clients, check, google, options, progress: progress)
    let wrong = try check.wrongCount(ofFirst: plan.subscriptionCount)
    report.facts += [
      ("size after", try size(of: directory)),
      (
        "deliveries",
        "\(FoldBench.grouped(plan.deliveries.count)) about "
          + "\(FoldBench.grouped(plan.renewedCount)) renewals within \(options.dayCount) days, "
          + "a tenth doubled, out of order within hours"
      ),
      (
        "checked",
        "\(FoldBench.grouped(plan.subscriptionCount)) accounts' schedules, "
          + "\(wrong) of them wrong"
      ),
    ]
    if wrong > 0 { report.failures.append("\(wrong) schedules are wrong") }
    run.add(to: &report, servers)
    return report
  }

  private func fill(
    _ plan: BacklogPlan, _ directory: String, _ sealingKey: [UInt8], _ report: inout Report
  ) throws(BenchError) {
    progress.note("filling \(FoldBench.grouped(plan.subscriptionCount)) subscriptions")
    let start = MonotonicTime.now()
    let rules = LedgerRules(catalogue: try WebhookBench.catalogue())
    let sealing: SealingKeys
    do throws(CryptoError) { sealing = try SealingKeys([Secret(sealingKey)]) } catch {
      throw .command("no sealing key: \(error)")
    }
    try BacklogFill(
      plan: plan, sealing: sealing, ledger: Ledger(stores: .known, rules: rules),
      progress: progress
    ).run(in: directory)
    let seconds = Int(MonotonicTime.now().seconds(since: start))
    report.facts.append(
      (
        "subscriptions",
        "\(FoldBench.grouped(plan.subscriptionCount)), a third of each store; recorded in "
          + "\(seconds) s before"
      ))
  }

  private func billing(
    _ directory: String, _ sealingKey: [UInt8], _ deliveries: BacklogDeliveries,
    _ google: BacklogGoogle
  ) throws(BenchError) -> ServerProcess {
    let root = try workspace.write(deliveries.apple.root, "root.der")
    let account = try workspace.write(
      deliveries.google.serviceAccount(tokenURL: "\(google.url)/token").encoded(),
      "service-account.json")
    // No API key of Stripe or the App Store: nothing is read from them, and live data counts.
    let environment = [
      "COFFER_DATABASE": "sqlite://\(directory)", "COFFER_MODE": "test",
      "COFFER_PLANS": "\(WebhookBench.files)/catalogue.json",
      "COFFER_SEALING_KEYS": Base64.standard.encode(sealingKey),
      "COFFER_TRUSTED_PROXIES": "127.0.0.1",
      "COFFER_STRIPE_WEBHOOK_SECRETS": deliveries.stripeSecret, "COFFER_APPLE_ROOT_FILE": root,
      "COFFER_APPLE_BUNDLE_ID": AppleNotifications.bundleID,
      "COFFER_APPLE_APP_ID": "\(AppleNotifications.appID)",
      "COFFER_GOOGLE_PACKAGE": GoogleNotifications.package,
      "COFFER_GOOGLE_PUSH_AUDIENCE": GoogleNotifications.audience,
      "COFFER_GOOGLE_PUSH_EMAIL": GoogleNotifications.email,
      "COFFER_GOOGLE_SERVICE_ACCOUNT_FILE": account, "COFFER_GOOGLE_API_URL": google.url,
      "COFFER_GOOGLE_KEYS_URL": "\(google.url)/certs",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(try ServerProcess.freePort())",
    ]
    return try ServerProcess(log: workspace.file("billing.log"), environment: environment) { _ in
      [workspace.program("coffer-billing")]
    } settings: { port in
      ["COFFER_BILLING_LISTEN": "127.0.0.1:\(port)"]
    }
  }

  private func sync(_ directory: String) throws(BenchError) -> ServerProcess {
    let environment = [
      "COFFER_DATABASE": "sqlite://\(directory)",
      "COFFER_OBJECTS": "file://\(try workspace.directory("objects"))",
      "COFFER_PLANS": "\(WebhookBench.files)/catalogue.json",
      "COFFER_SYNC_AUTHORITIES": SyncClients.authority,
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(try ServerProcess.freePort())",
      "COFFER_REQUESTS_BURST": "1000000", "COFFER_REQUESTS_PER_SECOND": "1000000",
    ]
    return try ServerProcess(log: workspace.file("sync.log"), environment: environment) { _ in
      [workspace.program("coffer-sync")]
    } settings: { port in
      ["COFFER_SYNC_LISTEN": "127.0.0.1:\(port)"]
    }
  }

  private func prepare(
    _ clients: SyncClients, _ server: ServerProcess, _ directory: String
  ) throws(BenchError) {
    let load = Load(options)
    try load.deliver(clients.accountRequests(now: .now), to: server)
    let owners = try workspace.identifiers("\(directory)/sync.db", "root_id", "id", of: "accounts")
    try load.deliver(clients.documentRequests(owners: owners, now: .now), to: server)
  }

  private func size(of directory: String) throws(BenchError) -> String {
    let text = try workspace.output("du", "--summarize", "--block-size=1M", directory)
    return "\(text.prefix(while: \.isNumber)) MiB of databases and logs"
  }
}
