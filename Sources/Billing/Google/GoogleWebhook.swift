import Base
import HTTPMessages
import HTTPServer
import JSON
import Stores
import Subscriptions
import Tiers

extension Webhook {
  /// Real-time developer notifications, pushed by Pub/Sub. Each causes a read of the purchase that it names.
  init(googlePlay verifier: GoogleVerifier) {
    self.init(
      bodyByteCountMax: GoogleVerifier.bodyByteCountMax, isDear: true,
      // The token is in the headers, so a forger's body is not even read.
      admit: { head, now in
        let proof: PushProof
        do throws(GoogleRefusal) {
          proof = try verifier.prove(authorization: head.headers.text("authorization"), now: now)
        } catch {
          throw WebhookRefusal(error)
        }
        switch proof {
        case .proven(let sender): return .ready(Self.preparation(of: sender))
        case .waiting(let start):
          return .pending { done in
            start { result in
              done(
                result.map { Self.preparation(of: $0) }.mapError { WebhookRefusal($0) })
            }
          }
        }
      })
  }

  private static func preparation(of sender: PushSender) -> Preparation {
    let proof = "pushed with a token of the key \(sender.keyID)"
    return { body, _ in Delivery(Delivery.Content(sender.push(body)), proof: proof) }
  }
}

extension Delivery.Content {
  fileprivate init(_ push: VerifiedPush) {
    self.init(
      type: try? GoogleNotification.type(of: push),
      requests: GoogleNotification.requests(naming: push)
    ) { () throws(UndecodableDelivery) in DecodedDelivery(try GoogleNotification(push)) }
  }
}

extension DecodedDelivery {
  init(_ notification: GoogleNotification) {
    var requests: [ReadRequest] = []
    if let token = notification.token, !notification.isForeign {
      requests.append(ReadRequest(token.objectKey, reason: notification.type, secret: token.secret))
      if let order = notification.orderID {
        requests.append(
          ReadRequest(
            token.objectKey, reason: ReadRequest.orderPrefix + order, secret: token.secret))
      }
    }
    self.init(
      provider: .google, environment: .live, deliveryID: notification.id, type: notification.type,
      object: notification.token?.objectKey.id, created: notification.created, requests: requests,
      refundQuestion: notification.refundReview.map {
        RefundQuestion($0.order, secret: $0.secret)
      }, notes: Set(notification.notes.map(\.rawValue)),
      disposition: notification.isForeign ? .foreign : .recorded,
      meaning: [
        "type": .string(notification.type),
        "created": notification.created.map { .integer($0.milliseconds) } ?? .null,
        "object": notification.token.map { .string($0.objectKey.id) } ?? .null,
        "order": notification.orderID.map { .string($0) } ?? .null,
      ])
  }

  /// A purchase token posted by a client. It causes a read, as a notification does.
  init(claimed token: PurchaseToken, at now: Instant) {
    self.init(
      provider: .google, environment: .live, deliveryID: "client:\(token.objectKey.id)",
      type: "client token", object: token.objectKey.id, created: now,
      requests: [
        ReadRequest(token.objectKey, reason: "claimed", secret: token.secret, isClaim: true)
      ],
      disposition: .recorded, meaning: ["object": .string(token.objectKey.id)])
  }
}

extension ReadRequest {
  /// The prefix of the reason for a request that names one order of a purchase.
  static let orderPrefix = "order:"
}

extension WebhookRefusal {
  /// While Google's keys are unavailable nothing is proven, so Pub/Sub is asked to come again.
  fileprivate init(_ refusal: GoogleRefusal) {
    let code = refusal.rawValue.split(separator: "-").joined(separator: "_")
    let isUnproven = refusal == .keysUnavailable
    self.init(
      reason: refusal.rawValue, isForgery: !isUnproven,
      problem: isUnproven
        ? Problem(
          503, code, "Keys unavailable",
          "The keys that push tokens are signed with cannot be read now.", retryAfterSeconds: 10)
        : Problem(
          401, code, "Push token refused",
          "The bearer token does not prove that our push subscription sent this."))
  }
}
