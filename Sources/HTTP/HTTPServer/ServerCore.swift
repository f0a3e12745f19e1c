import Base
import HTTPMessages

final class ServerCore: Sendable {
  let router: Router
  let limits: ServerLimits
  let metrics: ServerMetrics
  let peers: Peers
  let requestIDs = RequestIDs()
  let problems = ProblemLog()
  let proxies: TrustedProxies
  let pages: WebPages
  let held: HeldBytes
  let pauses = Locked(0)
  private let problem: @Sendable (any Error, RequestHead) -> Problem?

  init(
    routes: [Route], limits: ServerLimits, proxies: TrustedProxies, pages: WebPages,
    name: String, problem: @escaping @Sendable (any Error, RequestHead) -> Problem?
  ) {
    router = Router(routes)
    self.limits = limits
    self.proxies = proxies
    self.pages = pages
    metrics = .named(name)
    held = HeldBytes(limits, gauge: metrics.heldBytes)
    let shortest = [
      limits.headSpan, limits.bodySpan, limits.answerSpan, limits.sendSpan, limits.idleSpan,
      limits.discardSpan,
    ].min()!
    peers = Peers(tick: .milliseconds(min(250, max(10, shortest.milliseconds / 4))))
    self.problem = problem
  }

  /// The problem that the client gets for an error. An error that is not mapped is logged and named `internal`.
  func problem(for error: any Error, _ head: RequestHead) -> Problem {
    if let problem = error as? Problem { return problem }
    if let problem = problem(error, head) { return problem }
    Log.error("http.internal_error", ["request": head.requestID, "error": "\(error)"])
    return Problem(
      500, "internal", "Internal error",
      "The server failed to answer. The log has the reason under the request id.")
  }
}
