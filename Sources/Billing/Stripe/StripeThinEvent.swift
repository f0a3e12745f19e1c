package import Base
import JSON
package import Stores
package import Subscriptions
package import Tiers

/// An event notification of API v2. It names the object to which something happened, and no more.
///
/// Only a read shows what became of the object. The type describes it as it was when the event was
/// created. https://docs.stripe.com/event-destinations
package struct StripeThinEvent: Hashable, Sendable {
  package let id: String
  package let type: String
  package let created: Instant
  package let environment: StoreEnvironment
  /// Only for Connect and organisations: the account that the event belongs to, which is not ours.
  package let context: String?
  /// The id of the object that it names, whatever its kind.
  package let objectID: String?
  /// The object, if it can concern a subscription.
  package let object: ObjectKey?

  /// Reads a signed body. Unknown members and types are no error.
  package init(_ delivery: VerifiedDelivery) throws(UndecodableDelivery) {
    self = try delivery.decoded { (json) throws(JSONError) in try Self(json) }
  }

  static func isThin(_ json: JSON) -> Bool { json["object"].string == "v2.core.event" }

  init(_ json: JSON) throws(JSONError) {
    guard try json["object"].requireString() == "v2.core.event" else {
      throw json["object"].failure("must be a v2.core.event")
    }
    id = try json["id"].requireID()
    type = try json["type"].requireID()
    guard let created = Instant(rfc3339: try json["created"].requireString()) else {
      throw json["created"].failure("must be a time, e.g. 2026-10-28T12:00:00.123Z")
    }
    self.created = created
    let environment: StoreEnvironment = try json["livemode"].requireBool() ? .live : .sandbox
    self.environment = environment
    context = json["context"].reference
    let related = json["related_object"]
    objectID = related["id"].reference
    guard let id = objectID, let kind = Self.kind(related["type"].string, of: type) else {
      object = nil
      return
    }
    object = ObjectKey(provider: .stripe, environment: environment, kind: kind, id: id)
  }

  /// The kind of the object, if a read of it could say something about a subscription; `type` is
  /// that of a thin event.
  static func kind(_ related: String?, of type: String) -> ObjectKey.Kind? {
    let kind = related.flatMap { ObjectKey.Kind(rawValue: $0) }
    return switch kind {
    case .subscription, .invoice, .invoicePayment, .checkoutSession, .refund, .dispute: kind
    // Every payment has some of these events, but only a refund among them says anything.
    case .charge: type == "v1.charge.refunded" ? kind : nil
    case .customer: type == "v1.customer.deleted" ? kind : nil
    default: nil
    }
  }
}
