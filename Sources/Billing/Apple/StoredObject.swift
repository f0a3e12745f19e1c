import Base
package import JSON
import Stores
package import Subscriptions

extension AppleObject {
  package func stored() -> JSONValue {
    switch self {
    case .transaction(let content): content.stored()
    case .renewal(let content): content.stored()
    case .status(let content): ["state": .integer(content.state.number)]
    }
  }

  package init(stored json: JSON, kind: ObjectKey.Kind) throws(JSONError) {
    switch kind {
    case .transaction: self = .transaction(try AppleTransaction(stored: json))
    case .renewal: self = .renewal(try AppleRenewal(stored: json))
    case .status:
      self = .status(AppleStatus(AppleStatus.State(try json["state"].requireInteger())))
    default: throw json.failure("must be a mirrored Apple object")
    }
  }
}

extension AppleTransaction {
  fileprivate func stored() -> JSONValue {
    .members([
      ("original", .string(originalTransactionID)), ("product", .string(productID)),
      ("from", .instant(purchaseDate)), ("to", .instant(expiresDate)),
      ("revokedAt", .optional(revocation?.date)),
      ("revocation", revocation.map { .string($0.kind.rawValue) }),
      ("percentage", revocation?.percentageMilliunits.map { .integer($0) }),
      ("isUpgraded", isUpgraded ? true : nil),
      ("ownership", ownership == .purchased ? nil : .string(ownership.text)),
      ("isFreeTrial", isFreeTrial ? true : nil),
      ("account", account.map { .string($0.description) }),
      ("previousOriginal", previousOriginalTransactionID.map { .string($0) }),
      ("isCommitted", commitment == nil ? nil : true),
      ("commitmentTo", .optional(commitment?.end)),
      ("price", price.map { .integer($0.milliunits) }),
      ("currency", price.map { .string($0.currency) }),
    ])
  }

  fileprivate init(stored json: JSON) throws(JSONError) {
    self.init(
      originalTransactionID: try json["original"].requireString(),
      productID: try json["product"].requireString(),
      purchaseDate: try json["from"].requireStoredInstant(),
      expiresDate: try json["to"].requireStoredInstant(),
      revocation: try Revocation(stored: json),
      isUpgraded: json["isUpgraded"].bool ?? false,
      ownership: json["ownership"].string.map { Ownership($0) } ?? .purchased,
      isFreeTrial: json["isFreeTrial"].bool ?? false,
      account: json["account"].string.flatMap { Identifier($0) },
      previousOriginalTransactionID: json["previousOriginal"].string,
      commitment: json["isCommitted"].bool == true
        ? Commitment(end: json["commitmentTo"].storedInstant) : nil,
      price: Price(stored: json))
  }
}

extension AppleTransaction.Price {
  fileprivate init?(stored json: JSON) {
    guard let milliunits = json["price"].integer, let currency = json["currency"].string else {
      return nil
    }
    self.init(milliunits: milliunits, currency: currency)
  }
}

extension AppleTransaction.Revocation {
  fileprivate init?(stored json: JSON) throws(JSONError) {
    guard let date = json["revokedAt"].storedInstant else { return nil }
    guard let kind = Kind(rawValue: try json["revocation"].requireString()) else {
      throw json["revocation"].failure("must be a kind")
    }
    self.init(date: date, kind: kind, percentageMilliunits: json["percentage"].integer)
  }
}

extension AppleRenewal {
  fileprivate func stored() -> JSONValue {
    .members([
      ("product", .string(productID)), ("nextProduct", nextProductID.map { .string($0) }),
      ("willRenew", willRenew ? true : nil),
      ("expirationIntent", expirationIntent.map { .integer($0) }),
      ("isInBillingRetry", isInBillingRetry ? true : nil),
      ("graceTo", .optional(gracePeriodExpiresDate)),
      ("account", account.map { .string($0.description) }),
      ("commitmentRenews", commitmentWillRenew.map { .bool($0) }),
    ])
  }

  fileprivate init(stored json: JSON) throws(JSONError) {
    self.init(
      productID: try json["product"].requireString(), nextProductID: json["nextProduct"].string,
      willRenew: json["willRenew"].bool ?? false,
      expirationIntent: json["expirationIntent"].integer,
      isInBillingRetry: json["isInBillingRetry"].bool ?? false,
      gracePeriodExpiresDate: json["graceTo"].storedInstant,
      account: json["account"].string.flatMap { Identifier($0) },
      commitmentWillRenew: json["commitmentRenews"].bool)
  }
}
