internal import Base
internal import HTTPMessages
internal import HTTPServer
internal import JSON
internal import Stores

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
    let head = Array("Stripe-Signature: ".utf8) + delivery.signature
    let proof = Webhook.proof(bySecret: delivery.secret)
    do throws(StripeEventError) {
      self.init(.decoded(try DecodedDelivery(delivery)), head: head, proof: proof)
    } catch {
      let (id, why) = error.undecodable
      let json = try? JSON.parseForeign(delivery.body)
      self.init(
        .undecodable(
          id: id, type: try? json?["type"].requireID(), why: why,
          requests: json.map { StripeEvent.requests(naming: $0) } ?? []), head: head, proof: proof)
    }
  }
}

extension DecodedDelivery {
  /// Decodes a snapshot or a thin event, depending on how the endpoint is configured.
  init(_ delivery: VerifiedDelivery) throws(StripeEventError) {
    do throws(StripeEventError) {
      self.init(try StripeEvent(delivery), received: delivery.receivedAt)
    } catch .thin {
      self.init(try StripeThinEvent(delivery))
    }
  }
}

extension StripeEventError {
  /// The event's id if it can be read, and what is wrong with the rest.
  fileprivate var undecodable: (id: String?, why: String) {
    switch self {
    case .thin: (nil, "is thin")
    case .undecodable(let id, let error): (id, "\(error)")
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
