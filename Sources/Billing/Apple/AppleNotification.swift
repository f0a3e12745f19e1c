package import Base
package import JSON
package import Stores
package import Subscriptions
package import Tiers

/// A notification, decoded: what it says about which objects, as of when.
///
/// Its type is for the log alone. What happened to a subscription is in the facts, each of which
/// has the time at which its own JWS was signed.
package struct AppleNotification: Hashable, Sendable {
  /// `notificationUUID`: the same in every attempt to deliver it.
  package let id: String
  /// `DID_RENEW`, or with its subtype `DID_RENEW/BILLING_RECOVERY`.
  package let type: String
  /// When this attempt was signed.
  package let created: Instant
  package let environment: StoreEnvironment
  package let facts: [Fact]
  /// What must be read because the notification does not tell it.
  package let incompleteObjects: [ObjectKey]
  /// The transaction of which the store asks, before it decides whether its money goes back.
  package let questionedTransaction: ObjectKey?
  /// What the transaction may be looked for by, beside its id.
  package let terms: [SearchTerm]
  package let notes: Set<AppleNote>
}

/// What a decoder noticed and an operator may want to know.
package enum AppleNote: String, Hashable, Sendable, CaseIterable {
  /// A type that the store did not have when this decoder was written. Its facts count.
  case unknownType = "unknown_type"
  case unknownSubtype = "unknown_subtype"
  /// An enumeration holds a value that this decoder reads as the nearest one it knows.
  case unknownValue = "unknown_value"
  /// The account token is no UUID; it is ignored.
  case malformedAccount = "malformed_account"
  /// The transaction is no auto-renewable subscription's, so it is no fact.
  case otherProduct = "other_product"
  /// A status without anything that says whose.
  case noSubscription = "no_subscription"
  /// More transactions than are read at once: the oldest are missing.
  case historyCutShort = "history_cut_short"
}

/// Genuine, so it is recorded, but not what the store documents; `id` where it can be read.
package enum AppleDecodingError: Error, Equatable, Sendable, CustomStringConvertible {
  case undecodable(id: String?, JSONError)

  package var description: String {
    switch self {
    case .undecodable(_, let error): error.description
    }
  }
}

extension AppleNotification {
  /// Tolerant of unknown types, members and values, strict about ids and times.
  package init(_ verified: VerifiedNotification) throws(AppleDecodingError) {
    do { try self.init(reading: verified) } catch {
      let id = verified.payload["notificationUUID"].string
      throw .undecodable(id: id.flatMap { isID($0) ? $0 : nil }, error)
    }
  }

  private init(reading verified: VerifiedNotification) throws(JSONError) {
    let payload = verified.payload
    id = try payload["notificationUUID"].requireID()
    let (name, subtype) = try Self.names(of: verified)
    type = Self.type(name, subtype)
    created = verified.signedDate
    environment = verified.environment
    var decoder = AppleDecoder(environment: verified.environment)
    decoder.checkType(name, subtype)
    let transaction = try verified.transaction.map { (signed) throws(JSONError) in
      try decoder.readTransaction(signed)
    }
    let renewal = try verified.renewal.map { (signed) throws(JSONError) in
      try decoder.readRenewal(signed)
    }
    let status = payload["data"]["status"]
    if let number = try status.optionalInteger() {
      decoder.readStatus(number, of: transaction ?? renewal, asOf: verified.signedDate)
    }
    // A renewal without its transaction says that there is more to know.
    incompleteObjects = transaction == nil ? [renewal].compactMap { $0 } : []
    facts = decoder.facts
    questionedTransaction = name == "CONSUMPTION_REQUEST" ? Self.paid(decoder.facts) : nil
    terms = decoder.terms
    notes = decoder.notes
  }

  /// Its type, where no more of it may be readable.
  static func type(of verified: VerifiedNotification) throws(JSONError) -> String {
    let (name, subtype) = try names(of: verified)
    return type(name, subtype)
  }

  /// What asks for the subscription that it names, where no more of it may be readable.
  static func requests(naming verified: VerifiedNotification) -> [ReadRequest] {
    for signed in [verified.transaction, verified.renewal].compactMap({ $0 }) {
      guard let id = try? signed.payload["originalTransactionId"].requireID() else { continue }
      let key = ObjectKey(
        provider: .apple, environment: verified.environment, kind: .subscription, id: id)
      return [.undecodable(key)]
    }
    return []
  }

  private static func names(
    of verified: VerifiedNotification
  ) throws(JSONError) -> (name: String, subtype: String?) {
    let payload = verified.payload
    return (try payload["notificationType"].requireID(), try payload["subtype"].optionalID())
  }

  private static func type(_ name: String, _ subtype: String?) -> String {
    subtype.map { "\(name)/\($0)" } ?? name
  }

  /// Of what a family or a seat lets somebody use, nothing is asked.
  private static func paid(_ facts: [Fact]) -> ObjectKey? {
    facts.first { fact in
      guard case .transaction(let content)? = fact.object.base as? AppleObject else { return false }
      return content.ownership == .purchased
    }?.key
  }
}

/// A single transaction, decoded: what a client posts to claim its subscription.
package struct AppleTransactionReading: Hashable, Sendable {
  package let subscription: ObjectKey
  /// The account that our client named at the purchase.
  package let account: Identifier?
  /// Nil for what is no auto-renewable subscription.
  package let fact: Fact?
  package let terms: [SearchTerm]
  package let notes: Set<AppleNote>

  package init(_ verified: VerifiedTransaction) throws(AppleDecodingError) {
    var decoder = AppleDecoder(environment: verified.environment)
    do { subscription = try decoder.readTransaction(verified.signed) } catch {
      let id = verified.signed.payload["transactionId"].string
      throw .undecodable(id: id.flatMap { isID($0) ? $0 : nil }, error)
    }
    fact = decoder.facts.first
    terms = decoder.terms
    notes = decoder.notes
    if case .transaction(let content)? = fact?.object.base as? AppleObject {
      account = content.account
    } else {
      account = nil
    }
  }
}
