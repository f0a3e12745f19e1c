import Base
import JSON
import Stores
import Subscriptions
import Tiers

/// Decodes verified payloads into facts, one after another.
struct AppleDecoder {
  let environment: StoreEnvironment
  private(set) var facts: [Fact] = []
  private(set) var terms: [SearchTerm] = []
  private(set) var notes: Set<AppleNote> = []

  init(environment: StoreEnvironment) { self.environment = environment }

  mutating func note(_ note: AppleNote) { notes.insert(note) }

  /// Adds the transaction if it belongs to a subscription. Returns the subscription's key in any case.
  mutating func readTransaction(_ signed: SignedPayload) throws(JSONError) -> ObjectKey {
    let json = signed.payload
    let id = try json["transactionId"].requireID()
    let original = try json["originalTransactionId"].requireID()
    guard try json["type"].requireString() == "Auto-Renewable Subscription" else {
      notes.insert(.otherProduct)
      return key(.subscription, original)
    }
    let content = AppleTransaction(
      originalTransactionID: original,
      productID: try json["productId"].requireID(),
      purchaseDate: try json["purchaseDate"].requireInstant(),
      expiresDate: try expiry(json),
      revocation: try revocation(json),
      isUpgraded: try json["isUpgraded"].optionalBool(),
      ownership: try ownership(json["inAppOwnershipType"]),
      isFreeTrial: json["offerType"].integer == 1
        && json["offerDiscountType"].string == "FREE_TRIAL",
      account: account(json),
      previousOriginalTransactionID: try json["previousOriginalTransactionId"].optionalID(),
      commitment: try commitment(json), price: price(json))
    add(key(.transaction, id), .transaction(content), signed.signedDate)
    if let term = SearchTerm(json["webOrderLineItemId"].string, of: key(.transaction, id)) {
      terms.append(term)
    }
    return key(.subscription, original)
  }

  mutating func readRenewal(_ signed: SignedPayload) throws(JSONError) -> ObjectKey {
    let json = signed.payload
    let original = try json["originalTransactionId"].requireID()
    let product = try json["productId"].requireID()
    let next = try json["autoRenewProductId"].optionalID()
    let renews = try json["autoRenewStatus"].requireInteger()
    if !(0...1).contains(renews) { notes.insert(.unknownValue) }
    let content = AppleRenewal(
      productID: product,
      nextProductID: next == product ? nil : next,
      willRenew: renews == 1,
      expirationIntent: try json["expirationIntent"].optionalInteger(),
      isInBillingRetry: try json["isInBillingRetryPeriod"].optionalBool(),
      gracePeriodExpiresDate: try json["gracePeriodExpiresDate"].optionalInstant(),
      account: account(json), commitmentWillRenew: try commitmentRenewal(json))
    add(key(.renewal, original), .renewal(content), signed.signedDate)
    return key(.subscription, original)
  }

  /// Adds a status. It carries no time itself, so `signedDate` comes from the payloads signed with it.
  mutating func readStatus(_ number: Int64, of subscription: ObjectKey?, asOf signedDate: Instant) {
    guard let subscription else {
      notes.insert(.noSubscription)
      return
    }
    let state = AppleStatus.State(number)
    if case .other = state { notes.insert(.unknownValue) }
    add(key(.status, subscription.id), .status(AppleStatus(state)), signedDate)
  }

  mutating func checkType(_ type: String, _ subtype: String?) {
    guard let subtypes = Self.subtypes[type] else {
      notes.insert(.unknownType)
      return
    }
    if let subtype, !subtypes.contains(subtype) { notes.insert(.unknownSubtype) }
  }

  /// Every type that the store documents, with its subtypes. Each may come without a subtype.
  private static let subtypes: [String: Set<String>] = [
    "SUBSCRIBED": ["INITIAL_BUY", "RESUBSCRIBE"],
    "DID_RENEW": ["BILLING_RECOVERY"],
    "DID_CHANGE_RENEWAL_PREF": ["UPGRADE", "DOWNGRADE"],
    "DID_CHANGE_RENEWAL_STATUS": ["AUTO_RENEW_ENABLED", "AUTO_RENEW_DISABLED"],
    "DID_FAIL_TO_RENEW": ["GRACE_PERIOD"],
    "GRACE_PERIOD_EXPIRED": [],
    "EXPIRED": ["VOLUNTARY", "BILLING_RETRY", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE"],
    "OFFER_REDEEMED": ["UPGRADE", "DOWNGRADE", "INITIAL_BUY", "RESUBSCRIBE"],
    "PRICE_INCREASE": ["PENDING", "ACCEPTED"],
    "REFUND": [], "REFUND_DECLINED": [], "REFUND_REVERSED": [], "REVOKE": [],
    "CONSUMPTION_REQUEST": [], "RENEWAL_EXTENDED": [],
    "RENEWAL_EXTENSION": ["SUMMARY", "FAILURE"],
    "ONE_TIME_CHARGE": [],
    "EXTERNAL_PURCHASE_TOKEN": ["CREATED", "ACTIVE_TOKEN_REMINDER", "UNREPORTED"],
    "RESCIND_CONSENT": [], "METADATA_UPDATE": [], "MIGRATION": [], "PRICE_CHANGE": [], "TEST": [],
  ]

  // MARK: parts

  private func expiry(_ json: JSON) throws(JSONError) -> Instant {
    let expiry = json["expiresDate"]
    guard try expiry.requireInstant() >= json["purchaseDate"].requireInstant() else {
      throw JSONError(
        code: .numberRange, path: expiry.path, message: "must not be before purchaseDate")
    }
    return try expiry.requireInstant()
  }

  private mutating func revocation(
    _ json: JSON
  ) throws(JSONError) -> AppleTransaction.Revocation? {
    guard let date = try json["revocationDate"].optionalInstant() else { return nil }
    let kind: AppleTransaction.Revocation.Kind
    switch json["revocationType"].string {
    case "REFUND_FULL", nil: kind = .full
    case "REFUND_PRORATED": kind = .prorated
    case "FAMILY_REVOKE": kind = .family
    case "ASSIGNMENT_REVOKE": kind = .assignment
    default:
      kind = .unknown
      notes.insert(.unknownValue)
    }
    return AppleTransaction.Revocation(
      date: date, kind: kind,
      percentageMilliunits: try json["revocationPercentage"].optionalInteger())
  }

  /// Payloads from before family sharing name no ownership.
  private mutating func ownership(
    _ json: JSON
  ) throws(JSONError) -> AppleTransaction.Ownership {
    guard let text = try json.optionalID() else { return .purchased }
    let ownership = AppleTransaction.Ownership(text)
    if !ownership.isKnown { notes.insert(.unknownValue) }
    return ownership
  }

  /// The price does not affect access, so an unreadable one counts as none.
  private func price(_ json: JSON) -> AppleTransaction.Price? {
    guard let milliunits = json["price"].integer, let currency = json["currency"].string,
      isID(currency)
    else { return nil }
    return AppleTransaction.Price(milliunits: milliunits, currency: currency)
  }

  private mutating func commitment(
    _ json: JSON
  ) throws(JSONError) -> AppleTransaction.Commitment? {
    switch json["billingPlanType"].string {
    case "MONTHLY":
      return AppleTransaction.Commitment(
        end: try json["commitmentInfo"]["commitmentExpiresDate"].optionalInstant())
    case "BILLED_UPFRONT", nil: return nil
    default:
      notes.insert(.unknownValue)
      return nil
    }
  }

  private mutating func commitmentRenewal(_ json: JSON) throws(JSONError) -> Bool? {
    let status = json["commitmentInfo"]["commitmentAutoRenewStatus"]
    guard let renews = try status.optionalInteger() else { return nil }
    if !(0...1).contains(renews) { notes.insert(.unknownValue) }
    return renews == 1
  }

  private mutating func account(_ json: JSON) -> Identifier? {
    let token = json["appAccountToken"]
    if token.isAbsent { return nil }
    guard let account = token.string.flatMap({ Identifier($0) }) else {
      notes.insert(.malformedAccount)
      return nil
    }
    return account
  }

  private func key(_ kind: ObjectKey.Kind, _ id: String) -> ObjectKey {
    ObjectKey(provider: .apple, environment: environment, kind: kind, id: id)
  }

  private mutating func add(_ key: ObjectKey, _ object: AppleObject, _ signedDate: Instant) {
    facts.append(Fact(key: key, object: object, asOf: .moment(signedDate)))
  }
}
