internal import Base
internal import Crypto
internal import HTTPMessages
internal import HTTPServer
internal import Stripe
internal import Subscriptions

extension Webhook {
  /// Stripe's signature is over the whole body, so a delivery without one is refused unread.
  static func stripe(_ secrets: WebhookSecrets, sealing: SealingKeys) -> Webhook {
    Webhook(
      provider: .stripe,
      // Events with large lists reach hundreds of kilobytes.
      bodyByteCountMax: 1 << 20, isDear: false,
      admit: { head, _ in
        let signatures = head.headers.all("stripe-signature")
        if signatures.isEmpty { throw WebhookRefusal(.missingHeader) }
        return .ready { body, now in
          let delivery: VerifiedDelivery
          do throws(SignatureRefusal) {
            delivery = try secrets.verify(headers: signatures, body: body, now: now)
          } catch {
            throw WebhookRefusal(error)
          }
          return try PreparedSource(delivery, sealing: sealing)
        }
      })
  }
}

extension PreparedSource {
  fileprivate init(
    _ delivery: VerifiedDelivery, sealing: SealingKeys
  ) throws(WebhookRefusal) {
    let head = Array("Stripe-Signature: ".utf8) + delivery.signature
    do throws(StripeEventError) {
      self.init(
        DecodedSource(try StripeEvent(delivery), received: delivery.receivedAt),
        received: delivery.receivedAt, head: head, body: delivery.body, sealing: sealing)
    } catch {
      switch error {
      case .undecodable(let id, let error):
        self.init(
          undecodable: id, "\(error)", from: .stripe, received: delivery.receivedAt, head: head,
          body: delivery.body, sealing: sealing)
      case .thin:
        throw WebhookRefusal(
          reason: "thin", isForgery: false,
          problem: Problem(
            400, "thin_event", "Thin events are not taken",
            "This endpoint takes snapshot events: set the event destination's payload to "
              + "snapshot."))
      }
    }
  }
}

extension WebhookRefusal {
  /// The same answer for every reason: a forger learns nothing from it, an operator the counter.
  fileprivate init(_ refusal: SignatureRefusal) {
    self.init(
      reason: "\(refusal)", isForgery: true,
      problem: Problem(
        400, "signature_refused", "Signature refused",
        "The Stripe-Signature header does not prove that Stripe sent this body now."))
  }
}
