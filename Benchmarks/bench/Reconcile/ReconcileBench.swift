import Base
import Crypto
import Glibc
import HTTPServer
import JSON
import LocalServer

/// Reconciles days of which every delivery was lost, from what the stores report again: the calls for each
/// subscription, the time and the memory. Then measures a run in which nothing is wrong, and a daily one.
struct ReconcileBench {
  private static let chunkCount = 5000
  /// The time limit of the first reads, and of a run.
  private static let patience = Instant.Span.minutes(60)
  private static let replicaLagSeconds: UInt32 = 10
  private static let stripeSecret = "whsec_" + Hex.encode(Random.bytes(24))

  private let options: Options
  private let workspace: Workspace
  private let progress = Progress("reconcile")

  init(_ options: Options, _ workspace: Workspace) {
    self.options = options
    self.workspace = workspace
  }

  func report() throws(BenchError) -> Report {
    var report = Report(subject: .reconcile, facts: try Machine(workspace, options).facts)
    let plan = ReconcilePlan(options, now: .now)
    let notifications = GoogleNotifications(now: plan.months.now)
    let stores = ReconcileStores(
      stripe: try ReconcileStripe(plan, secret: Self.stripeSecret),
      google: ReconcileGoogle(plan, notifications))
    let server = try stores.serve()
    defer { server.drain(within: .seconds(1)) }
    let directory = try workspace.directory("reconcile")
    let environment = try environment(directory, stores, notifications, server.port)
    let billing = try billing(environment)
    try tell(plan, stores, notifications, to: billing)
    let database = "\(directory)/billing.db"
    try settle(database)
    let check = try BacklogCheck(plan.months, database, workspace)
    let lost = try check.wrongCount(ofFirst: plan.count)
    stores.renew()
    report.facts += [
      (
        "subscriptions",
        "\(FoldBench.grouped(plan.count)), of "
          + plan.stores.map(\.rawValue).joined(separator: " and ")
          + (plan.stores.count > 1 ? " by turns" : "")
      ),
      (
        "lost",
        "\(options.dayCount) days with \(FoldBench.grouped(plan.months.renewedCount)) renewals"
      ),
    ]
    if lost == 0 { report.failures.append("nothing was wrong before the run") }
    for (name, isWhole) in [
      ("after the loss", true), ("when nothing is wrong", true), ("as every day", false),
    ] {
      progress.note("a \(isWhole ? "whole " : "")run, \(name)")
      let run = try ReconcileRun(
        name, isWhole: isWhole, plan, stores, billing, database, workspace, environment,
        patience: Self.patience)
      run.add(to: &report)
    }
    let wrong = try check.wrongCount(ofFirst: plan.count)
    report.facts.append(
      (
        "checked",
        "\(FoldBench.grouped(plan.count)) accounts' schedules: \(lost) of them wrong before, "
          + "\(wrong) after"
      ))
    if wrong > 0 { report.failures.append("\(wrong) schedules are wrong") }
    return report
  }

  private func environment(
    _ directory: String, _ stores: ReconcileStores, _ notifications: GoogleNotifications,
    _ port: UInt16
  ) throws(BenchError) -> [String: String] {
    let url = "http://127.0.0.1:\(port)"
    let account = try workspace.write(
      notifications.serviceAccount(tokenURL: "\(url)/token").encoded(), "service-account.json")
    return [
      "COFFER_DATABASE": "sqlite://\(directory)", "COFFER_MODE": "test",
      "COFFER_PLANS": "\(WebhookBench.files)/catalogue.json",
      "COFFER_SEALING_KEYS": Base64.standard.encode(Random.bytes(32)),
      "COFFER_STRIPE_WEBHOOK_SECRETS": Self.stripeSecret,
      "COFFER_STRIPE_API_KEY": stores.stripe.key, "COFFER_STRIPE_API_URL": url,
      "COFFER_GOOGLE_PACKAGE": GoogleNotifications.package,
      "COFFER_GOOGLE_PUSH_AUDIENCE": GoogleNotifications.audience,
      "COFFER_GOOGLE_PUSH_EMAIL": GoogleNotifications.email,
      "COFFER_GOOGLE_SERVICE_ACCOUNT_FILE": account, "COFFER_GOOGLE_API_URL": url,
      "COFFER_GOOGLE_KEYS_URL": "\(url)/certs", "COFFER_RECONCILE_HOURS": "0",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(try ServerProcess.freePort())",
    ]
  }

  private func billing(_ environment: [String: String]) throws(BenchError) -> ServerProcess {
    try ServerProcess(log: workspace.file("billing.log"), environment: environment) { _ in
      [workspace.program("coffer-billing")]
    } settings: { port in
      ["COFFER_BILLING_LISTEN": "127.0.0.1:\(port)"]
    }
  }

  /// Delivers the month before the loss, as the stores reported it.
  private func tell(
    _ plan: ReconcilePlan, _ stores: ReconcileStores, _ notifications: GoogleNotifications,
    to billing: ServerProcess
  ) throws(BenchError) {
    let load = Load(options)
    for start in stride(from: 0, to: plan.count, by: Self.chunkCount) {
      progress.note("\(FoldBench.grouped(start)) of \(FoldBench.grouped(plan.count)) told")
      var requests = Requests()
      for index in start..<min(start + Self.chunkCount, plan.count) {
        switch plan.store(index) {
        case .stripe: stores.stripe.append(index, signed: .now, to: &requests)
        case .google:
          notifications.append(
            notifications.body(index, at: plan.begin(index, isRenewal: false)), to: &requests)
        case .apple: break
        }
      }
      try load.deliver(requests, to: billing)
    }
  }

  /// Waits until everything that was reported is read and confirmed.
  private func settle(_ database: String) throws(BenchError) {
    progress.note("waiting for the first reads")
    let end = MonotonicTime.now() + Self.patience
    while MonotonicTime.now() < end {
      let open = try workspace.number(
        database, "SELECT count(*) FROM jobs WHERE kind = 'read' AND due_ms IS NOT NULL")
      if open == 0 {
        // Within this time of a read, a replica may or may not have shown a change.
        sleep(Self.replicaLagSeconds)
        return
      }
      ReconcileRun.pause()
    }
    throw .server("the first reads do not end")
  }
}

/// Substitutes for the stores, behind one address.
struct ReconcileStores {
  let stripe: ReconcileStripe
  let google: ReconcileGoogle

  func serve() throws(BenchError) -> HTTPServer {
    do { return try startServer(stripe.routes + google.routes, name: "bench") } catch {
      throw .server("the bench's own server does not start: \(error)")
    }
  }

  func renew() {
    stripe.renew()
    google.renew()
  }

  func takeRequestCount(of store: Options.Store) -> Int {
    switch store {
    case .stripe: stripe.takeRequestCount()
    case .google: google.takeRequestCount()
    case .apple: 0
    }
  }
}
