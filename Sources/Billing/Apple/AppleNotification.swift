package import Base
import JSON
package import Stores
package import Subscriptions
package import Tiers

/// A decoded notification: what it says about which objects, as of when.
///
/// Its type is only logged. The facts show what happened; each has the time at which its own JWS was signed.
package struct AppleNotification: Hashable, Sendable {
  /// `notificationUUID`: the same in every attempt at delivery.
  package let id: String
  /// `DID_RENEW`, or `DID_RENEW/BILLING_RECOVERY` with a subtype.
  package let type: String
  /// When this attempt was signed.
  package let created: Instant
  package let environment: StoreEnvironment
  package let facts: [Fact]
  /// Objects to read because the notification does not contain them.
  package let incompleteObjects: [ObjectKey]
  /// The transaction that the store asks about before it decides on a refund.
  package let questionedTransaction: ObjectKey?
  /// Terms by which the transaction can be found, in addition to its id.
  package let terms: [SearchTerm]
  package let notes: Set<AppleNote>
}

/// Something that a decoder noticed and an operator may want to know.
package enum AppleNote: String, Hashable, Sendable, CaseIterable {
  /// A type that this decoder does not know. Its facts count.
  case unknownType = "unknown_type"
  case unknownSubtype = "unknown_subtype"
  /// An enumeration has an unknown value, which is read as the nearest known one.
  case unknownValue = "unknown_value"
  /// The account token is not a UUID. It is ignored.
  case malformedAccount = "malformed_account"
  /// The transaction is not of an auto-renewable subscription, so it gives no fact.
  case otherProduct = "other_product"
  /// A status that names no subscription.
  case noSubscription = "no_subscription"
  /// There are more transactions than one read takes; the oldest are missing.
  case historyCutShort = "history_cut_short"
}

extension AppleNotification {
  /// Accepts unknown types, members and values, but only valid ids and times.
  package init(_ verified: VerifiedNotification) throws(UndecodableDelivery) {
    do { try self.init(reading: verified) } catch {
      throw UndecodableDelivery(
        id: try? verified.payload.get()["notificationUUID"].requireID(), error)
    }
  }

  private init(reading verified: VerifiedNotification) throws(JSONError) {
    let payload = try verified.payload.get()
    id = try payload["notificationUUID"].requireID()
    let (name, subtype) = try Self.names(of: verified)
    type = Self.type(name, subtype)
    created = verified.signedDate
    environment = verified.environment
    var decoder = AppleDecoder(environment: verified.environment)
    decoder.checkType(name, subtype)
    let transaction = try verified.transaction.map { (signed) throws(JSONError) in
      try decoder.readTransaction(signed.get())
    }
    let renewal = try verified.renewal.map { (signed) throws(JSONError) in
      try decoder.readRenewal(signed.get())
    }
    let status = payload["data"]["status"]
    if let number = try status.optionalInteger() {
      decoder.readStatus(number, of: transaction ?? renewal, asOf: verified.signedDate)
    }
    // A renewal without its transaction means that there is more to read.
    incompleteObjects = transaction == nil ? [renewal].compactMap { $0 } : []
    facts = decoder.facts
    questionedTransaction = name == "CONSUMPTION_REQUEST" ? Self.paid(decoder.facts) : nil
    terms = decoder.terms
    notes = decoder.notes
  }

  /// The notification's type, which may be readable when the rest is not.
  static func type(of verified: VerifiedNotification) throws(JSONError) -> String {
    let (name, subtype) = try names(of: verified)
    return type(name, subtype)
  }

  /// A request to read the subscription that it names, if the rest cannot be read.
  static func requests(naming verified: VerifiedNotification) -> [ReadRequest] {
    let ids = [verified.transaction, verified.renewal].compactMap { signed in
      try? signed?.get().payload["originalTransactionId"].requireID()
    }
    return ids.prefix(1).map { id in
      .undecodable(
        ObjectKey(
          provider: .apple, environment: verified.environment, kind: .subscription, id: id))
    }
  }

  private static func names(
    of verified: VerifiedNotification
  ) throws(JSONError) -> (name: String, subtype: String?) {
    let payload = try verified.payload.get()
    return (try payload["notificationType"].requireID(), try payload["subtype"].optionalID())
  }

  private static func type(_ name: String, _ subtype: String?) -> String {
    subtype.map { "\(name)/\($0)" } ?? name
  }

  /// The transaction that its holder paid for. Nothing is asked about purchases shared by a family or a seat.
  private static func paid(_ facts: [Fact]) -> ObjectKey? {
    facts.first { fact in
      guard case .transaction(let content)? = fact.object.base as? AppleObject else { return false }
      return content.ownership == .purchased
    }?.key
  }
}

/// A single decoded transaction, posted by a client to claim its subscription.
package struct AppleTransactionReading: Hashable, Sendable {
  package let subscription: ObjectKey
  /// Nil if it is not an auto-renewable subscription.
  package let fact: Fact?
  package let terms: [SearchTerm]
  package let notes: Set<AppleNote>

  package init(_ verified: VerifiedPart) throws(UndecodableDelivery) {
    var decoder = AppleDecoder(environment: verified.environment)
    do { subscription = try decoder.readTransaction(verified.signed) } catch {
      throw UndecodableDelivery(
        id: try? verified.signed.payload["transactionId"].requireID(), error)
    }
    fact = decoder.facts.first
    terms = decoder.terms
    notes = decoder.notes
  }
}
