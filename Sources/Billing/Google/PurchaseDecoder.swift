import Base
import JSON
import Stores
import Subscriptions

/// Decodes answers of the purchases API into facts of one read.
struct PurchaseDecoder {
  private(set) var facts: [Fact] = []
  private(set) var linked: [PurchaseToken] = []
  private(set) var notes: Set<GoogleNote> = []
  /// The package name in front of its products' ids; nil for the oldest app.
  var package: String?
  private let asOf: AsOf
  private let now: Instant

  /// A subscription has a handful of items.
  private static let itemCountMax = 50

  /// `now` is the time at which the answer was read.
  init(readNumber: Int64, now: Instant, package: String? = nil) {
    self.package = package
    asOf = .readNumber(readNumber)
    self.now = now
  }

  /// The orders that pay for the purchase's items now.
  var orders: [String] {
    facts.flatMap { fact -> [String] in
      guard case .purchase(let purchase)? = fact.object.base as? GoogleObject else { return [] }
      return purchase.items.compactMap { $0.latestOrderID }
    }
  }

  mutating func note(_ note: GoogleNote) { notes.insert(note) }

  /// Reads `SubscriptionPurchaseV2`. An answer without state or items is no purchase and must not end what is
  /// known.
  mutating func readPurchase(_ json: JSON, of token: PurchaseToken) throws(JSONError) {
    let text = try json["subscriptionState"].requireID()
    let items = try self.items(json["lineItems"])
    guard !items.isEmpty else {
      throw JSONError(
        code: .missing, path: json["lineItems"].path, message: "must hold what was bought")
    }
    let replaced = try older(json["linkedPurchaseToken"], than: token)
    let context = json["outOfAppPurchaseContext"]
    let expired = try older(context["expiredPurchaseToken"], than: token)
    linked = [replaced, expired].compactMap { $0 }
    let prefix = "SUBSCRIPTION_STATE_"
    let state = GooglePurchase.State(
      text.hasPrefix(prefix) ? String(text.dropFirst(prefix.utf8.count)) : "UNSPECIFIED")
    let canceled = json["canceledStateContext"]
    let content = GooglePurchase(
      state: state, startTime: try json["startTime"].optionalTimestamp(), items: items,
      replaces: replaced?.objectKey.id, continues: expired?.objectKey.id,
      account: account(json["externalAccountIdentifiers"])
        ?? account(context["expiredExternalAccountIdentifiers"]),
      isAcknowledged: json["acknowledgementState"].string == "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
      isTest: json["testPurchase"].isObject,
      isCanceledByReplacement: canceled["replacementCancellation"].isObject,
      ended: ended(state, items),
      resumes: json["pausedStateContext"]["autoResumeTime"].time,
      canceled: canceled["userInitiatedCancellation"]["cancelTime"].time)
    facts.append(Fact(key: token.objectKey, object: GoogleObject.purchase(content), asOf: asOf))
  }

  /// When a purchase without access ended, by the times of its items. A hold begins with the first item that
  /// was not paid for. An end in the future does not count.
  private func ended(
    _ state: GooglePurchase.State, _ items: [GooglePurchase.Item]
  ) -> Instant? {
    let renewing = items.filter { $0.autoRenews }.compactMap { $0.expiryTime }
    let all = items.compactMap { $0.expiryTime }
    let end: Instant? =
      switch state {
      case .expired: all.max()
      case .onHold, .paused: renewing.min() ?? all.min()
      case .pending, .active, .inGracePeriod, .canceled, .pendingPurchaseCanceled, .other: nil
      }
    return end.flatMap { $0 <= now ? $0 : nil }
  }

  /// A purchase that named itself would end itself.
  private func older(_ json: JSON, than token: PurchaseToken) throws(JSONError) -> PurchaseToken? {
    var named = try json.optionalToken()
    named?.package = package
    return named == token ? nil : named
  }

  /// Reads an `Order`. One that pays for another purchase is ignored.
  mutating func readOrder(_ json: JSON, of token: PurchaseToken) throws(JSONError) {
    let id = try json["orderId"].requireID()
    if let named = try json["purchaseToken"].optionalToken(), named != token { return }
    let state = GoogleOrder.State(rawValue: json["state"].string ?? "") ?? .other
    facts.append(
      Fact(
        key: ObjectKey(
          provider: .google, environment: token.objectKey.environment, kind: .order, id: id),
        object: GoogleObject.order(
          GoogleOrder(
            purchase: token.objectKey.id, state: state,
            created: json["createTime"].time,
            total: json["total"].money, line: line(json["lineItems"][0]),
            refunds: refunds(json["orderHistory"]))),
        asOf: asOf))
  }

  /// The line does not affect access, so what cannot be read is left out.
  private func line(_ json: JSON) -> GoogleOrder.Line? {
    guard let product = json["productId"].id else { return nil }
    let details = json["subscriptionDetails"]
    return GoogleOrder.Line(
      productID: named(product), basePlanID: details["basePlanId"].id,
      from: details["servicePeriodStartTime"].time, to: details["servicePeriodEndTime"].time)
  }

  /// The same for refunds: everything at once, or one part at a time.
  private func refunds(_ json: JSON) -> [GoogleOrder.Refund] {
    let parts = ((try? json["partialRefundEvents"].requireArray()) ?? []).prefix(Self.itemCountMax)
      .filter { $0["state"].string == "PROCESSED_SUCCESSFULLY" }
      .map { ($0, $0["processTime"].string ?? $0["createTime"].string) }
    let whole = json["refundEvent"]
    return (parts + [(whole, whole["eventTime"].string)]).compactMap { event, time in
      time.flatMap { Instant(foreign: $0) }.map {
        GoogleOrder.Refund(at: $0, total: event["refundDetails"]["total"].money)
      }
    }
  }

  private mutating func items(_ json: JSON) throws(JSONError) -> [GooglePurchase.Item] {
    if json.isAbsent { return [] }
    var all = try json.requireArray()
    if all.count > Self.itemCountMax {
      notes.insert(.itemsCutShort)
      all.removeLast(all.count - Self.itemCountMax)
    }
    return try all.map { item throws(JSONError) in
      GooglePurchase.Item(
        productID: named(try item["productId"].requireID()),
        basePlanID: try item["offerDetails"]["basePlanId"].optionalID(),
        expiryTime: try item["expiryTime"].optionalTimestamp(),
        autoRenews: try item["autoRenewingPlan"]["autoRenewEnabled"].optionalBool(),
        isFreeTrial: item["offerPhase"]["freeTrial"].isObject,
        latestOrderID: try item["latestSuccessfulOrderId"].optionalID(),
        isLeaving: item["deferredItemRemoval"].isObject,
        nextProductID: item["deferredItemReplacement"]["productId"].id.map { named($0) })
    }
  }

  private func named(_ product: String) -> String { package.map { "\($0)/\(product)" } ?? product }

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
