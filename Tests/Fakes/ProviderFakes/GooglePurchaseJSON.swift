import Base
package import JSON

/// The members that proto3 JSON writes: those that differ from the type's default.
struct GoogleMembers {
  private(set) var members: [JSONValue.Member] = []

  mutating func add(_ name: String, _ value: JSONValue?) {
    if let value { members.append(.init(name, value)) }
  }

  mutating func add(_ name: String, _ text: String?) { add(name, text.map { .string($0) }) }
  mutating func add(_ name: String, _ time: Instant?) { add(name, time?.description) }
  mutating func add(_ name: String, _ flag: Bool) { if flag { add(name, .bool(true)) } }

  var json: JSONValue { .object(members) }
}

extension GoogleSale {
  /// The answer of `purchases.subscriptionsv2.get`.
  var json: JSONValue {
    var answer = GoogleMembers()
    answer.add("kind", "androidpublisher#subscriptionPurchaseV2")
    answer.add("startTime", start)
    answer.add("regionCode", "US")
    answer.add("subscriptionState", "SUBSCRIPTION_STATE_\(state.rawValue)")
    answer.add("linkedPurchaseToken", linkedToken)
    addContexts(&answer)
    if isTest { answer.add("testPurchase", .object([])) }
    answer.add(
      "acknowledgementState",
      "ACKNOWLEDGEMENT_STATE_\(acknowledged == nil ? "PENDING" : "ACKNOWLEDGED")")
    answer.add("externalAccountIdentifiers", Self.identifiers(accountID))
    answer.add("lineItems", .array(items.map(json)))
    if let outOfApp {
      var context = GoogleMembers()
      context.add("expiredExternalAccountIdentifiers", Self.identifiers(outOfApp.accountID))
      context.add("expiredPurchaseToken", outOfApp.expiredToken)
      answer.add("outOfAppPurchaseContext", context.json)
    }
    answer.add("etag", etag)
    return answer.json
  }

  var etag: String {
    Base64.url.encode(Array("\(token.suffix(12))/\(version)".utf8))
  }

  private static func identifiers(_ accountID: String?) -> JSONValue? {
    accountID.map { ["obfuscatedExternalAccountId": .string($0)] }
  }

  private func addContexts(_ answer: inout GoogleMembers) {
    switch state {
    case .canceled, .expired: answer.add("canceledStateContext", cancellation?.json)
    case .paused:
      var context = GoogleMembers()
      context.add("autoResumeTime", resumesAt)
      answer.add("pausedStateContext", context.json)
    case .inGracePeriod: answer.add("inGracePeriodStateContext", declined)
    case .onHold: answer.add("onHoldStateContext", declined)
    case .active, .pending, .pendingPurchaseCanceled: break
    }
  }

  private var declined: JSONValue {
    var declined = GoogleMembers()
    declined.add("pendingOrderId", pendingOrder)
    return ["renewalDeclined": declined.json]
  }

  private func json(_ item: Item) -> JSONValue {
    var line = GoogleMembers()
    line.add("productId", item.plan.productID)
    line.add("expiryTime", item.expiry)
    line.add("latestSuccessfulOrderId", item.order)
    if item.plan.isPrepaid {
      var plan = GoogleMembers()
      // Google lets the customer extend from the start.
      plan.add("allowExtendAfterTime", state == .expired ? nil : start)
      line.add("prepaidPlan", plan.json)
    } else {
      var plan = GoogleMembers()
      plan.add("autoRenewEnabled", isAutoRenewing)
      plan.add("recurringPrice", item.plan.price.json)
      line.add("autoRenewingPlan", plan.json)
    }
    var offer = GoogleMembers()
    offer.add("basePlanId", item.plan.basePlanID)
    if item.isTrial { offer.add("offerId", "free-trial") }
    line.add("offerDetails", offer.json)
    if item.expiry != nil {
      line.add("offerPhase", [item.isTrial ? "freeTrial" : "basePrice": .object([])])
    }
    if let next = item.next {
      line.add("deferredItemReplacement", ["productId": .string(next.productID)])
    }
    if item.isLeaving { line.add("deferredItemRemoval", .object([])) }
    if let (plan, mode) = item.replaced {
      line.add(
        "itemReplacement",
        [
          "productId": .string(plan.productID), "basePlanId": .string(plan.basePlanID),
          "replacementMode": .string(mode.rawValue),
        ])
    }
    return line.json
  }
}

extension GoogleSale.Cancellation {
  fileprivate var json: JSONValue {
    switch self {
    case .user(let time):
      ["userInitiatedCancellation": ["cancelTime": .string(time.description)]]
    case .system: ["systemInitiatedCancellation": .object([])]
    case .developer: ["developerInitiatedCancellation": .object([])]
    case .replacement: ["replacementCancellation": .object([])]
    }
  }
}

extension GoogleCharge {
  /// The answer of `orders.get`.
  var json: JSONValue {
    var answer = GoogleMembers()
    answer.add("orderId", id)
    answer.add("purchaseToken", token)
    answer.add("state", state.rawValue)
    answer.add("createTime", created)
    answer.add("lastEventTime", changed)
    answer.add("buyerAddress", ["buyerCountry": "US"])
    answer.add("total", total.json)
    answer.add("tax", GoogleMoney(cents: 0, currency: total.currency).json)
    answer.add("lineItems", .array(lines.map { line($0) }))
    answer.add("orderHistory", history)
    answer.add("developerRevenueInBuyerCurrency", revenue.json)
    answer.add("salesChannel", "IN_APP")
    return answer.json
  }

  private var revenue: GoogleMoney {
    GoogleMoney(
      cents: state == .processed ? total.cents * 85 / 100 : 0, currency: total.currency)
  }

  private func line(_ line: Line) -> JSONValue {
    var details = GoogleMembers()
    details.add("basePlanId", line.plan.basePlanID)
    details.add("servicePeriodStartTime", line.from)
    details.add("servicePeriodEndTime", line.to)
    return [
      "productTitle": "Coffer", "productId": .string(line.plan.productID),
      "listingPrice": line.plan.price.json, "total": total.json,
      "subscriptionDetails": details.json,
    ]
  }

  private var history: JSONValue {
    var history = GoogleMembers()
    switch state {
    case .pending: break
    case .processed:
      history.add("processedEvent", ["eventTime": .string(changed.description)])
    case .canceled:
      history.add("cancellationEvent", ["eventTime": .string(changed.description)])
    case .refunded:
      history.add(
        "refundEvent",
        [
          "eventTime": .string(changed.description),
          "refundDetails": ["total": total.json], "refundReason": "OTHER",
        ])
    }
    return history.json
  }
}

extension GoogleVoided {
  /// A row of `purchases.voidedpurchases.list`.
  var json: JSONValue {
    var row = GoogleMembers()
    row.add("kind", "androidpublisher#voidedPurchase")
    row.add("purchaseToken", token)
    row.add("purchaseTimeMillis", String(bought.milliseconds))
    row.add("voidedTimeMillis", String(voided.milliseconds))
    row.add("orderId", order)
    // Zero means "other" and "the customer"; proto3 JSON leaves zeros out.
    if reason.source != 0 { row.add("voidedSource", .integer(reason.source)) }
    if reason.number != 0 { row.add("voidedReason", .integer(reason.number)) }
    return row.json
  }
}

extension GoogleNotification {
  func json(packageName: String) -> JSONValue {
    var message = GoogleMembers()
    message.add("version", "1.0")
    message.add("packageName", packageName)
    message.add("eventTimeMillis", String(at.milliseconds))
    message.add(member, content)
    return message.json
  }

  /// Which of the five members the notification has.
  var member: String {
    switch about {
    case .subscription: "subscriptionNotification"
    case .voided: "voidedPurchaseNotification"
    case .test: "testNotification"
    case .oneTime: "oneTimeProductNotification"
    case .refundReview: "pendingRefundReviewNotification"
    }
  }

  private var content: JSONValue {
    switch about {
    case .subscription(let type, let token):
      [
        "version": "1.0", "notificationType": .integer(type), "purchaseToken": .string(token),
      ]
    case .voided(let token, let order):
      [
        "purchaseToken": .string(token), "orderId": .string(order), "productType": 1,
        "refundType": 1,
      ]
    case .test: ["version": "1.0"]
    case .oneTime(let type, let token, let product):
      [
        "version": "1.0", "notificationType": .integer(type), "purchaseToken": .string(token),
        "sku": .string(product),
      ]
    case .refundReview(let token, let order):
      [
        "version": "1.0", "pendingRefundToken": .string(token), "orderId": .string(order),
        "refundReason": "OTHER",
      ]
    }
  }

  /// The type's name in Google's reference, for logs and file names.
  var name: String {
    switch about {
    case .subscription(let type, _): Self.names[type] ?? "SUBSCRIPTION_\(type)"
    case .voided: "VOIDED_PURCHASE"
    case .test: "TEST"
    case .oneTime(let type, _, _):
      type == 1 ? "ONE_TIME_PRODUCT_PURCHASED" : "ONE_TIME_PRODUCT_CANCELED"
    case .refundReview: "PENDING_REFUND_REVIEW"
    }
  }

  private static let names: [Int64: String] = [
    1: "SUBSCRIPTION_RECOVERED", 2: "SUBSCRIPTION_RENEWED", 3: "SUBSCRIPTION_CANCELED",
    4: "SUBSCRIPTION_PURCHASED", 5: "SUBSCRIPTION_ON_HOLD", 6: "SUBSCRIPTION_IN_GRACE_PERIOD",
    7: "SUBSCRIPTION_RESTARTED", 9: "SUBSCRIPTION_DEFERRED", 10: "SUBSCRIPTION_PAUSED",
    11: "SUBSCRIPTION_PAUSE_SCHEDULE_CHANGED", 12: "SUBSCRIPTION_REVOKED",
    13: "SUBSCRIPTION_EXPIRED", 17: "SUBSCRIPTION_ITEMS_CHANGED",
    19: "SUBSCRIPTION_PRICE_CHANGE_UPDATED", 20: "SUBSCRIPTION_PENDING_PURCHASE_CANCELED",
  ]
}

/// JSON text as Google's APIs write it: two spaces of indentation and a space after the colon.
package enum GoogleText {
  package static func pretty(_ value: JSONValue) -> [UInt8] {
    Array((text(value, indentation: "") + "\n").utf8)
  }

  private static func text(_ value: JSONValue, indentation: String) -> String {
    let inner = indentation + "  "
    switch value {
    case .object(let members) where !members.isEmpty:
      let lines = members.map { member in
        "\(inner)\(line(.string(member.name))): \(text(member.value, indentation: inner))"
      }
      return "{\n" + lines.joined(separator: ",\n") + "\n\(indentation)}"
    case .array(let values) where !values.isEmpty:
      let lines = values.map { inner + text($0, indentation: inner) }
      return "[\n" + lines.joined(separator: ",\n") + "\n\(indentation)]"
    default: return line(value)
    }
  }

  private static func line(_ value: JSONValue) -> String {
    String(decoding: value.encoded(), as: UTF8.self)
  }
}
