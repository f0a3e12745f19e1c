internal import Base
internal import JSON
internal import Subscriptions

/// Turns answers of the purchases API into facts of one generation.
struct PurchaseDecoder {
  private(set) var facts: [Fact] = []
  private(set) var linked: [PurchaseToken] = []
  private(set) var notes: Set<GoogleNote> = []
  private let asOf: AsOf

  /// A subscription has a handful of items.
  private static let itemCountMax = 50

  init(generation: Int64) { asOf = .generation(generation) }

  /// The orders that pay for the purchase's items now.
  var orders: [String] {
    facts.flatMap { fact -> [String] in
      guard case .google(.purchase(let purchase)) = fact.object else { return [] }
      return purchase.items.compactMap { $0.latestOrderID }
    }
  }

  mutating func note(_ note: GoogleNote) { notes.insert(note) }

  /// `SubscriptionPurchaseV2`. Its members about the buyer's person are never read.
  mutating func readPurchase(_ json: JSON, of token: PurchaseToken) throws(JSONError) {
    let replaced = try older(json["linkedPurchaseToken"], than: token)
    let context = json["outOfAppPurchaseContext"]
    let expired = try older(context["expiredPurchaseToken"], than: token)
    linked = [replaced, expired].compactMap { $0 }
    let prefix = "SUBSCRIPTION_STATE_"
    let state = json["subscriptionState"].string ?? ""
    let canceled = json["canceledStateContext"]
    let content = GooglePurchase(
      state: GooglePurchase.State(
        state.hasPrefix(prefix) ? String(state.dropFirst(prefix.utf8.count)) : "UNSPECIFIED"),
      startTime: try json["startTime"].optionalTimestamp(),
      items: try items(json["lineItems"]),
      replaces: replaced?.objectKey.id, continues: expired?.objectKey.id,
      account: account(json["externalAccountIdentifiers"])
        ?? account(context["expiredExternalAccountIdentifiers"]),
      isAcknowledged: json["acknowledgementState"].string == "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
      isTest: json["testPurchase"].isObject,
      isCanceledByReplacement: canceled["replacementCancellation"].isObject)
    facts.append(Fact(key: token.objectKey, object: .google(.purchase(content)), asOf: asOf))
  }

  /// A purchase that named itself would end itself.
  private func older(_ json: JSON, than token: PurchaseToken) throws(JSONError) -> PurchaseToken? {
    let named = try json.optionalToken()
    return named == token ? nil : named
  }

  /// `Order`; nothing of one that pays for another purchase.
  mutating func readOrder(_ json: JSON, of token: PurchaseToken) throws(JSONError) {
    let id = try json["orderId"].requireID()
    if let named = try json["purchaseToken"].optionalToken(), named != token { return }
    let state = GoogleOrder.State(rawValue: json["state"].string ?? "") ?? .other
    facts.append(
      Fact(
        key: ObjectKey(
          provider: .google, partition: token.objectKey.partition, kind: .order, id: id),
        object: .google(.order(GoogleOrder(purchase: token.objectKey.id, state: state))),
        asOf: asOf))
  }

  private mutating func items(_ json: JSON) throws(JSONError) -> [GooglePurchase.Item] {
    guard json.exists, !json.isNull else { return [] }
    var all = try json.requireArray()
    if all.count > Self.itemCountMax {
      notes.insert(.itemsCutShort)
      all.removeLast(all.count - Self.itemCountMax)
    }
    return try all.map { item throws(JSONError) in
      GooglePurchase.Item(
        productID: try item["productId"].requireID(),
        basePlanID: try item["offerDetails"]["basePlanId"].optionalID(),
        expiryTime: try item["expiryTime"].optionalTimestamp(),
        autoRenews: try item["autoRenewingPlan"]["autoRenewEnabled"].optionalBool(),
        isFreeTrial: item["offerPhase"]["freeTrial"].isObject,
        latestOrderID: try item["latestSuccessfulOrderId"].optionalID())
    }
  }

  private mutating func account(_ identifiers: JSON) -> Identifier? {
    guard let text = identifiers["obfuscatedExternalAccountId"].string, !text.isEmpty else {
      return nil
    }
    guard let account = Identifier(text) else {
      notes.insert(.malformedAccount)
      return nil
    }
    return account
  }
}
