internal import Base
internal import Crypto
internal import Endpoints
internal import HTTPMessages
internal import HTTPServer
internal import JSON
internal import Storage
internal import Stripe
internal import Subscriptions

/// `POST /webhooks/stripe`: proves who sent it, keeps it, and answers 200 only once it is durable.
///
/// 400 means proven not to come from Stripe, or an endpoint set to thin events; storage trouble is
/// 503, upon which Stripe tries again for days. Everything else that is signed is 200, unknown
/// kinds and unreadable bodies among it: Stripe would repeat those for ever to no use.
struct StripeWebhook: Sendable {
  private let ledger: Ledger
  private let secrets: WebhookSecrets
  private let sealing: SealingKeys
  private let clock: Clock
  private let metrics = BillingMetrics.shared

  /// Events with large lists reach hundreds of kilobytes.
  private static let bodyByteCountMax = 1 << 20

  init(ledger: Ledger, secrets: WebhookSecrets, sealing: SealingKeys, clock: Clock) {
    self.ledger = ledger
    self.secrets = secrets
    self.sealing = sealing
    self.clock = clock
  }

  func route(on database: Database) -> Route {
    Endpoint<[[UInt8]], PreparedSource, Recorded>(
      "POST", "/webhooks/stripe", bodyByteCountMax: Self.bodyByteCountMax,
      admit: { head, _ in try admit(head) },
      prepare: { signatures, body in try prepare(signatures, body) },
      work: .write(share: { _ in nil }) { transaction, source in
        try ledger.record(source, in: transaction)
      },
      respond: { recorded in
        metrics.count(recorded)
        return Response.json(200, ["status": .string(recorded.status)])
      }
    ).route(on: database)
  }

  /// What no secret can make valid is refused before its body is read.
  private func admit(_ head: RequestHead) throws -> [[UInt8]] {
    let signatures = head.headers.all("stripe-signature")
    guard !signatures.isEmpty else { throw refused(.missingHeader) }
    return signatures
  }

  private func prepare(_ signatures: [[UInt8]], _ body: [UInt8]) throws -> PreparedSource {
    let delivery: VerifiedDelivery
    do {
      delivery = try secrets.verify(headers: signatures, body: body, now: clock.now())
    } catch {
      throw refused(error)
    }
    let head = Array("Stripe-Signature: ".utf8) + delivery.signature
    do {
      return PreparedSource(
        DecodedSource(try StripeEvent(delivery), received: delivery.receivedAt),
        received: delivery.receivedAt, head: head, body: delivery.body, sealing: sealing)
    } catch .undecodable(let id, let error) {
      return PreparedSource(
        undecodable: id, "\(error)", from: .stripe, received: delivery.receivedAt, head: head,
        body: delivery.body, sealing: sealing)
    } catch .thin {
      throw Problem(
        400, "thin_event", "Thin events are not taken",
        "This endpoint takes snapshot events: set the event destination's payload to snapshot.")
    }
  }

  /// The same answer for every reason: a forger learns nothing from it, an operator the counter.
  private func refused(_ refusal: SignatureRefusal) -> Problem {
    metrics.count(refusal)
    return Problem(
      400, "signature_refused", "Signature refused",
      "The Stripe-Signature header does not prove that Stripe sent this body now.")
  }
}

/// The place of a provider that is not configured.
enum AbsentProvider {
  static func route(_ provider: String) -> Route {
    Route("POST", "/webhooks/\(provider)") { _, _ in
      throw Problem(
        404, "provider_not_configured", "Provider not configured",
        "This server takes no deliveries of \(provider).")
    }
  }
}
