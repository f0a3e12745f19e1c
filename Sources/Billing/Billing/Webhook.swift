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
  /// Proves the sender, as far as the headers did not, and reads what was sent.
  typealias Preparation = @Sendable ([UInt8], Instant) throws -> PreparedSource

  let provider: ObjectKey.Provider
  let bodyByteCountMax: Int
  /// Whether proving a sender takes public-key arithmetic, so that forgers are made to wait. An HMAC
  /// costs less than telling them so, and whoever shares an address with them is heard.
  let isDear: Bool
  /// Refuses by the headers alone what no body can make genuine; may wait, without a thread, for
  /// what the proof needs. What it throws, and what `Preparation` does, is a `WebhookRefusal`.
  let admit: @Sendable (RequestHead, Instant) throws -> Step<Preparation>

  func route(ledger: Ledger, clock: Clock, forgeries: AddressBudget, on database: Database) -> Route
  {
    Route("POST", "/webhooks/\(provider.rawValue)") { head, captures in
      if isDear { try forgeries.refuseForger(head.remoteAddress) }
      let step: Step<Preparation>
      do { step = try admit(head, clock.now()) } catch { throw problem(error, head, forgeries) }
      return try step.then { result in
        let preparation = try result.mapError { problem($0, head, forgeries) }.get()
        return try endpoint(ledger) { body in
          // Again, as many heads may have come before the first of their bodies.
          if isDear { try forgeries.refuseForger(head.remoteAddress) }
          do { return try preparation(body, clock.now()) } catch {
            throw problem(error, head, forgeries)
          }
        }.admission(head, captures, on: database)
      }
    }
  }

  /// What is done once the sender's headers were believed.
  private func endpoint(
    _ ledger: Ledger, prepare: @escaping @Sendable ([UInt8]) throws -> PreparedSource
  ) -> Endpoint<Void, PreparedSource, Recorded> {
    let metrics = BillingMetrics.shared
    return Endpoint(
      "POST", "/webhooks/\(provider.rawValue)", bodyByteCountMax: bodyByteCountMax,
      admit: { _, _ in }, prepare: { _, body in try prepare(body) },
      work: .write(share: { _ in nil }) { transaction, source in
        try ledger.record(source, in: transaction)
      },
      respond: { recorded in
        metrics.count(recorded)
        return Response.json(200, ["status": .string(recorded.status)])
      })
  }

  private func problem(
    _ error: any Error, _ head: RequestHead, _ forgeries: AddressBudget
  ) -> any Error {
    guard let refusal = error as? WebhookRefusal else { return error }
    if refusal.isForgery, isDear { forgeries.spend(head.remoteAddress) }
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
