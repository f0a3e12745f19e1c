import JSON
package import ProviderAPI

extension StripeEvent {
  /// The event types without which a sale, a refund or an end may go unnoticed until a read.
  package static let neededTypes = [
    "charge.dispute.closed", "charge.dispute.created", "charge.dispute.updated",
    "charge.refund.updated", "charge.refunded", "checkout.session.completed", "customer.deleted",
    "customer.subscription.created", "customer.subscription.deleted",
    "customer.subscription.paused", "customer.subscription.resumed",
    "customer.subscription.updated", "invoice.created", "invoice.finalized",
    "invoice.marked_uncollectible", "invoice.paid", "invoice.payment_failed", "invoice.voided",
    "invoice_payment.paid", "refund.created", "refund.failed", "refund.updated",
  ]
}

/// A webhook endpoint as configured at Stripe.
package struct StripeEndpoint: Hashable, Sendable {
  package let url: String
  package let isEnabled: Bool
  /// `*` stands for every type.
  package let events: Set<String>

  /// The path at which `coffer-billing` receives Stripe's deliveries.
  package static let path = "/webhooks/stripe"

  /// Whether it delivers to a `coffer-billing`.
  package var isOurs: Bool { isEnabled && url.hasSuffix(Self.path) }

  /// The needed types that the endpoint does not send.
  package var missing: [String] {
    events.contains("*") ? [] : StripeEvent.neededTypes.filter { !events.contains($0) }
  }
}

extension StripeAPI {
  /// The account's webhook endpoints; a restricted key needs read access to them.
  package func endpoints() throws(APIFailure) -> [StripeEndpoint] {
    var reading = StripeReading(self)
    return try reading.pages("/v1/webhook_endpoints", []).flatMap { $0.items }.compactMap { json in
      json["url"].string.map { url in
        StripeEndpoint(
          url: url, isEnabled: json["status"].string == "enabled",
          events: Set((json["enabled_events"].array ?? []).compactMap { $0.string }))
      }
    }
  }
}
