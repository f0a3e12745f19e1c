import Base
import HTTPMessages
import HTTPServer
import JSON
import Stores
import Subscriptions
import Tiers

extension Webhook {
  /// App Store Server Notifications, version 2.
  init(appStore verifier: AppleVerifier) {
    let chains = Metrics.shared.gauge(
      "coffer_billing_apple_chains", "Cached certificate chains of the App Store.")
    self.init(
      bodyByteCountMax: AppleVerifier.signedByteCountMax + 1024, isDear: true,
      admit: { _, _ in
        .ready { body, now in
          let verified: VerifiedNotification
          do throws(AppleRefusal) {
            verified = try verifier.verify(body: body, now: now)
            chains.set(Int64(verifier.chainCount))
          } catch {
            throw WebhookRefusal(error)
          }
          let proof = "signed under the certificate \(verified.certificate)"
          return Delivery(Delivery.Content(verified), proof: proof)
        }
      })
  }
}

extension Delivery.Content {
  init(_ verified: VerifiedNotification) {
    self.init(
      type: try? AppleNotification.type(of: verified),
      requests: AppleNotification.requests(naming: verified)
    ) { () throws(UndecodableDelivery) in DecodedDelivery(try AppleNotification(verified)) }
  }
}

extension DecodedDelivery {
  init(_ notification: AppleNotification) {
    self.init(
      provider: .apple, environment: notification.environment, deliveryID: notification.id,
      type: notification.type, object: notification.facts.first?.key.id,
      created: notification.created, facts: notification.facts,
      requests: notification.incompleteObjects.map { ReadRequest($0, reason: "incomplete") },
      refundQuestion: notification.questionedTransaction.map { RefundQuestion($0) },
      terms: notification.terms,
      notes: Set(notification.notes.map(\.rawValue)),
      disposition: notification.facts.isEmpty ? .recorded : .joined,
      meaning: ["type": .string(notification.type)])
  }

  /// A transaction posted by a client.
  init(_ reading: AppleTransactionReading, environment: StoreEnvironment, signed: Instant) {
    let id = reading.fact?.key.id ?? reading.subscription.id
    self.init(
      provider: .apple, environment: environment, deliveryID: "client:\(id):\(signed.milliseconds)",
      type: "client transaction", object: id, created: signed,
      facts: reading.fact.map { [$0] } ?? [], terms: reading.terms,
      notes: Set(reading.notes.map(\.rawValue)),
      disposition: reading.fact == nil ? .recorded : .joined, meaning: ["type": "transaction"])
  }
}

extension WebhookRefusal {
  /// A wrong app or environment is a mistake in someone's settings. Everything else is forged.
  init(_ refusal: AppleRefusal) {
    let code = refusal.name.split(separator: "-").joined(separator: "_")
    self.init(
      reason: refusal.name, isForgery: !refusal.isAboutAnotherApp,
      problem: refusal.isAboutAnotherApp
        ? Problem(
          403, code, "Not about this app",
          "The notification is genuine and about another app or environment.")
        : Problem(
          400, code, "Signature refused",
          "The signedPayload does not prove that the App Store sent it about this app."))
  }

  /// Genuine, but of a product that gives no storage.
  static let notASubscription = WebhookRefusal(
    reason: "not-a-subscription", isForgery: false,
    problem: Problem(
      409, "not_a_subscription", "Not a subscription",
      "The transaction is for a product that is not an auto-renewable subscription."))
}
