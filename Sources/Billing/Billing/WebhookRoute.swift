import Base
import Crypto
import HTTPMessages
import HTTPServer
import JSON
import Ledger
import Storage
import Stores
import Subscriptions

/// `POST /webhooks/<provider>`: verifies the sender, stores the delivery, and answers 200 only once it is
/// durable.
///
/// 4xx means that it is proven not to come from the provider, or not to be about us. Storage trouble is 503,
/// after which providers try again for days. Everything else that is genuine gets 200, readable or not.
struct WebhookRoute: Sendable {
  let store: any Store
  let webhook: Webhook
  let deliveries: DeliveryQueue
  let sealing: SealingKeys
  let search: SearchKey?
  let clock: Clock
  let forgeries: AddressBudget
  let refusals: RefusalNotes
  let logsDeliveries: Bool

  var route: Route {
    Route("POST", "/webhooks/\(store.provider.rawValue)") { head, _ in
      if webhook.isDear { try forgeries.refuseForger(head.remoteAddress) }
      let step: Step<Webhook.Preparation>
      do { step = try webhook.admit(head, clock.now()) } catch { throw problem(error, head) }
      return try step.then { result in
        let preparation = try result.mapError { problem($0, head) }.get()
        return .ready(
          Admission(body: .memory(byteCountMax: webhook.bodyByteCountMax)) { body in
            let delivery = try prepared(preparation, body, head)
            return .pending { done in
              deliveries.record(delivery) { result in
                done(result.map { response($0, to: head) })
              }
            }
          })
      }
    }
  }

  private func prepared(
    _ preparation: Webhook.Preparation, _ body: [UInt8], _ head: RequestHead
  ) throws -> PreparedDelivery {
    // Checked again, because many heads may have come before the first of their bodies.
    if webhook.isDear { try forgeries.refuseForger(head.remoteAddress) }
    let now = clock.now()
    do {
      return PreparedDelivery(
        try preparation(body, now), of: store, received: now, body: body, sealing: sealing,
        search: search, trace: head.trace)
    } catch {
      throw problem(error, head)
    }
  }

  private func response(_ recorded: Recorded, to head: RequestHead) -> Response {
    BillingMetrics.shared.count(recorded, by: .webhook)
    if logsDeliveries { recorded.log(request: head.requestID, trace: head.trace) }
    return .json(200, ["status": .string(recorded.status)])
  }

  private func problem(_ error: any Error, _ head: RequestHead) -> any Error {
    guard let refusal = error as? WebhookRefusal else { return error }
    if refusal.isForgery, webhook.isDear { forgeries.spend(head.remoteAddress) }
    BillingMetrics.shared.count(refusal, from: store.provider)
    refusals.add(
      RefusedDelivery(
        at: clock.now(), provider: store.provider, reason: refusal.reason, request: head.requestID))
    return refusal.problem
  }
}

/// The route of a provider that is not configured.
enum AbsentProvider {
  static func route(_ provider: ObjectKey.Provider) -> Route {
    Route("POST", "/webhooks/\(provider.rawValue)") { _, _ in throw problem(provider) }
  }

  static func problem(_ provider: ObjectKey.Provider) -> Problem {
    Problem(
      404, "provider_not_configured", "Provider not configured",
      "This server does not use \(provider.rawValue).")
  }
}
