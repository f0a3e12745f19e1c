import Base
import HTTPMessages
import HTTPServer
import JSON
import LocalServer

/// Durable, verified pushes of Google Play's notifications a second.
///
/// Each leaves a purchase to be read. The API for those reads accepts connections and never answers, so that
/// only receiving is measured, whatever quota a real API would have.
struct GoogleWebhooks {
  private let options: Options
  private let workspace: Workspace
  private let notifications = GoogleNotifications(now: .now)

  init(_ options: Options, _ workspace: Workspace) {
    self.options = options
    self.workspace = workspace
  }

  func measure() throws(BenchError) -> WebhookBench.Part {
    let keys = try keyServer()
    let silent = try SilentServer()
    let api = "http://127.0.0.1:\(silent.port)"
    let account = try workspace.write(
      notifications.serviceAccount(tokenURL: "\(api)/token").encoded(), "service-account.json")
    let ours = try SideBySide(
      "coffer-billing, Google Play", "google",
      [
        "COFFER_GOOGLE_PACKAGE": GoogleNotifications.package,
        "COFFER_GOOGLE_PUSH_AUDIENCE": GoogleNotifications.audience,
        "COFFER_GOOGLE_PUSH_EMAIL": GoogleNotifications.email,
        "COFFER_GOOGLE_SERVICE_ACCOUNT_FILE": account, "COFFER_GOOGLE_API_URL": api,
        "COFFER_GOOGLE_KEYS_URL": "http://127.0.0.1:\(keys.port)/certs",
      ], notifications.requests(options.requestCount), options, workspace)
    keys.drain(within: .seconds(1))
    silent.close()
    return WebhookBench.Part(
      facts: [
        ("Google push", "\(notifications.bodyByteCount) bytes, all different; one token for all"),
        ("Google batches", ours.metrics.groups),
      ],
      rows: ours.rows,
      figures: [
        .rate(
          "google_notifications", ours.ours.outcome.perSecond,
          "Google Play notifications verified and durable")
      ] + ours.figures("google_ratio_to_against", "Google Play notifications", aim: 1))
  }

  private func keyServer() throws(BenchError) -> HTTPServer {
    let body = notifications.keySet
    let keys = Route("GET", "/certs") { _, _ in
      .ready(Admission(body: .none, finish: { _ in .ready(Response.json(200, body)) }))
    }
    do { return try startServer([keys], name: "bench") } catch {
      throw .server("the bench's own server does not start: \(error)")
    }
  }
}
