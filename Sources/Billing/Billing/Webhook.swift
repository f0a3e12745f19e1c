internal import Base
internal import Endpoints
internal import HTTPMessages
internal import HTTPServer
internal import JSON
internal import Storage
internal import Subscriptions

/// `POST /webhooks/<provider>`: proves who sent it, keeps it, and answers 200 only once it is durable.
///
/// 4xx means proven not to come from the provider, or not to be about us; storage trouble is 503,
/// upon which providers try again for days. Everything else that is genuine is 200, unknown kinds
/// and unreadable bodies among it: the provider would repeat those for ever to no use.
struct Webhook: Sendable {
  let provider: ObjectKey.Provider
  let bodyByteCountMax: Int
  /// Refuses by the headers alone what no body can make genuine.
  let admit: @Sendable (RequestHead) throws(WebhookRefusal) -> Void
  /// Proves the sender and reads what was sent.
  let prepare: @Sendable (RequestHead, [UInt8], Instant) throws(WebhookRefusal) -> PreparedSource

  func route(ledger: Ledger, clock: Clock, forgeries: ForgeryBudget, on database: Database) -> Route
  {
    let metrics = BillingMetrics.shared
    return Endpoint<RequestHead, PreparedSource, Recorded>(
      "POST", "/webhooks/\(provider.rawValue)", bodyByteCountMax: bodyByteCountMax,
      admit: { head, _ in
        try forgeries.check(head.remoteAddress)
        do throws(WebhookRefusal) { try admit(head) } catch {
          throw refused(error, head, forgeries)
        }
        return head
      },
      prepare: { head, body in
        // Again, as many heads may have come before the first of their bodies.
        try forgeries.check(head.remoteAddress)
        do throws(WebhookRefusal) { return try prepare(head, body, clock.now()) } catch {
          throw refused(error, head, forgeries)
        }
      },
      work: .write(share: { _ in nil }) { transaction, source in
        try ledger.record(source, in: transaction)
      },
      respond: { recorded in
        metrics.count(recorded)
        return Response.json(200, ["status": .string(recorded.status)])
      }
    ).route(on: database)
  }

  private func refused(
    _ refusal: WebhookRefusal, _ head: RequestHead, _ forgeries: ForgeryBudget
  ) -> Problem {
    if refusal.isForgery { forgeries.spend(head.remoteAddress) }
    BillingMetrics.shared.count(refusal, from: provider)
    return refusal.problem
  }
}

/// Why a delivery is not taken.
struct WebhookRefusal: Error {
  /// Of a small set, whatever was delivered: it labels a counter.
  let reason: String
  /// Whether nothing genuine stands behind it, so that its sender is made to wait.
  let isForgery: Bool
  let problem: Problem
}

/// The place of a provider that is not configured.
enum AbsentProvider {
  static func route(_ provider: ObjectKey.Provider) -> Route {
    Route("POST", "/webhooks/\(provider.rawValue)") { _, _ in throw problem(provider) }
  }

  static func problem(_ provider: ObjectKey.Provider) -> Problem {
    Problem(
      404, "provider_not_configured", "Provider not configured",
      "This server has nothing to do with \(provider.rawValue).")
  }
}
