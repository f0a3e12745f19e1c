import HTTPMessages
import HTTPServer
import JSON
import Stores

extension Webhook {
  /// Stripe signs the whole body, so a delivery without a signature is refused unread.
  init(stripe secrets: WebhookSecrets) {
    self.init(
      // Events with large lists reach hundreds of kilobytes.
      bodyByteCountMax: 1 << 20, isDear: false,
      proofs: secrets.digests.map { Self.proof(bySecret: $0) },
      admit: { head, _ in
        let signatures = head.headers.all("stripe-signature")
        if signatures.isEmpty { throw WebhookRefusal(.missingHeader) }
        return .ready { body, now in
          do throws(SignatureRefusal) {
            return Delivery(try secrets.verify(headers: signatures, body: body, now: now))
          } catch {
            throw WebhookRefusal(error)
          }
        }
      })
  }
}

extension Delivery {
  fileprivate init(_ delivery: VerifiedDelivery) {
    let json = { try? JSON.parseForeign(delivery.body) }
    let content = Content(
      type: try? json()?["type"].requireID(),
      requests: json().map { StripeEvent.requests(naming: $0) } ?? []
    ) { () throws(UndecodableDelivery) in try DecodedDelivery(delivery) }
    self.init(
      content, head: Array("Stripe-Signature: ".utf8) + delivery.signature,
      proof: Webhook.proof(bySecret: delivery.secret))
  }
}

extension DecodedDelivery {
  /// Decodes a snapshot or a thin event, depending on how the endpoint is configured.
  init(_ delivery: VerifiedDelivery) throws(UndecodableDelivery) {
    self = try delivery.decoded { (json) throws(JSONError) in
      StripeThinEvent.isThin(json)
        ? DecodedDelivery(try StripeThinEvent(json))
        : DecodedDelivery(try StripeEvent(json), received: delivery.receivedAt)
    }
  }
}

extension WebhookRefusal {
  /// The answer is the same for every reason, so a forger learns nothing from it. The counter shows
  /// the reason to an operator.
  fileprivate init(_ refusal: SignatureRefusal) {
    self.init(
      reason: refusal.rawValue, isForgery: true,
      problem: Problem(
        400, "signature_refused", "Signature refused",
        "The Stripe-Signature header does not prove that Stripe sent this body now."))
  }
}
