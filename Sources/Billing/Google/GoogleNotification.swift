package import Base
import JSON
package import Stores
package import Subscriptions
import Tiers

/// A decoded real-time developer notification: that something happened to a purchase, not what.
package struct GoogleNotification: Hashable, Sendable {
  /// Pub/Sub's `messageId`: the same at every redelivery.
  package let id: String
  /// Google's name for it, for example `SUBSCRIPTION_RENEWED`; only logged.
  package let type: String
  package let created: Instant?
  /// Whether it is about another app than ours.
  package let isForeign: Bool
  /// The purchase to read; nil if it concerns none of ours.
  package private(set) var token: PurchaseToken?
  /// The order that a voided purchase names.
  package private(set) var orderID: String?
  /// Google's question before it decides on a refund: the order, and the token that the answer must carry. Nil if
  /// it is about another app.
  package private(set) var refundReview: RefundReview?
  package private(set) var notes: Set<GoogleNote> = []

  package struct RefundReview: Hashable, Sendable {
    package let order: ObjectKey
    private let token: String

    package var secret: Secret { Secret(token) }
  }
}

extension GoogleNotification.RefundReview {
  private static let tokenByteCountMax = 2048

  /// Nil if the question cannot be answered. It is stored without any effect.
  fileprivate init?(_ notification: JSON) {
    guard let id = notification["orderId"].id,
      let token = notification["pendingRefundToken"].string,
      1...Self.tokenByteCountMax ~= token.utf8.count
    else { return nil }
    order = ObjectKey(provider: .google, environment: .live, kind: .order, id: id)
    self.token = token
  }
}

extension GoogleNotification.RefundReview: CustomStringConvertible, CustomReflectable {
  package var description: String { "<refund review>" }
  package var customMirror: Swift.Mirror { Swift.Mirror(self, children: []) }
}

/// Something that a decoder noticed and an operator may want to know.
package enum GoogleNote: String, Hashable, Sendable, CaseIterable {
  /// A notification that this decoder does not know. It causes a read all the same.
  case unknownType = "unknown_type"
  /// The obfuscated account id is not an account of ours. It is ignored.
  case malformedAccount = "malformed_account"
  /// A purchase has more items than are read.
  case itemsCutShort = "items_cut_short"
  /// An order could not be read with its purchase.
  case orderMissing = "order_missing"
}

extension GoogleNotification {
  /// Accepts unknown members and numbers, but requires a valid token and message id.
  package init(_ push: VerifiedPush) throws(UndecodableDelivery) {
    let envelope: JSON
    do { envelope = try JSON.parseForeign(push.body) } catch {
      throw UndecodableDelivery(id: nil, error)
    }
    let message = envelope["message"]
    let id = (message["messageId"].string ?? message["message_id"].string).flatMap {
      isID($0) ? $0 : nil
    }
    do throws(JSONError) {
      guard let id else {
        throw JSONError(
          code: .missing, path: message["messageId"].path, message: "must be a message's id")
      }
      let data = message["data"]
      guard let bytes = Base64.standard.decode(try data.requireString()) else {
        throw data.failure("must be standard base64")
      }
      try self.init(id: id, try JSON.parseForeign(bytes).requireObject(), packages: push.packages)
    } catch {
      throw UndecodableDelivery(id: id, error)
    }
  }

  private init(id: String, _ json: JSON, packages: [String]) throws(JSONError) {
    self.id = id
    let named = try json["packageName"].requireString()
    isForeign = !packages.contains(named)
    created = json["eventTimeMillis"].exists ? try Self.moment(json["eventTimeMillis"]) : nil
    let isFurther = named != packages.first
    let purchase = { (json: JSON) throws(JSONError) -> PurchaseToken in
      var token = try json["purchaseToken"].requireToken()
      if isFurther { token.package = named }
      return token
    }
    let kinds = Self.kinds.filter { json[$0].isObject }
    guard kinds.count == 1, let kind = kinds.first else {
      throw json.failure("must hold exactly one notification")
    }
    let notification = json[kind]
    type = try Self.type(kind, notification)
    switch kind {
    case "subscriptionNotification":
      let number = try notification["notificationType"].requireInteger()
      if Self.names[number] == nil { notes.insert(.unknownType) }
      token = try purchase(notification)
    case "voidedPurchaseNotification":
      // Only what is certainly a one-time product is ignored: an unnecessary read does no harm.
      let product = notification["productType"].integer
      guard product != 2 else { break }
      if product != 1 { notes.insert(.unknownType) }
      token = try purchase(notification)
      orderID = try notification["orderId"].optionalID()
    case "pendingRefundReviewNotification":
      refundReview = isForeign ? nil : RefundReview(notification)
    default: break
    }
  }

  private static func moment(_ json: JSON) throws(JSONError) -> Instant {
    let milliseconds = try json.requireLong()
    guard (0...253_402_300_799_999).contains(milliseconds) else {
      throw JSONError(
        code: .numberRange, path: json.path, message: "must be a time before year 10000")
    }
    return Instant(milliseconds: milliseconds)
  }

  /// The type of a push, which may be readable when the rest is not.
  static func type(of push: VerifiedPush) throws(JSONError) -> String? {
    guard let json = content(of: push), let kind = kinds.first(where: { json[$0].isObject }) else {
      return nil
    }
    return try type(kind, json[kind])
  }

  /// A request to read the purchase that a push names, if the rest cannot be read.
  static func requests(naming push: VerifiedPush) -> [ReadRequest] {
    guard let json = content(of: push), let named = json["packageName"].string,
      push.packages.contains(named)
    else { return [] }
    // A purchase that both kinds name is requested once. For a one-time product there is nothing to read.
    for kind in ["subscriptionNotification", "voidedPurchaseNotification"] {
      guard json[kind]["productType"].integer != 2,
        let token = try? json[kind]["purchaseToken"].requireToken()
      else { continue }
      return [.undecodable(token.objectKey, secret: token.secret)]
    }
    return []
  }

  private static func content(of push: VerifiedPush) -> JSON? {
    guard let data = try? JSON.parseForeign(push.body)["message"]["data"].string,
      let bytes = Base64.standard.decode(data)
    else { return nil }
    return try? JSON.parseForeign(bytes)
  }

  private static func type(_ kind: String, _ notification: JSON) throws(JSONError) -> String {
    if let name = otherTypes[kind] { return name }
    let number = try notification["notificationType"].requireInteger()
    return "SUBSCRIPTION_" + (names[number] ?? String(number))
  }

  private static let kinds = [
    "subscriptionNotification", "voidedPurchaseNotification", "oneTimeProductNotification",
    "pendingRefundReviewNotification", "testNotification",
  ]

  private static let otherTypes = [
    "voidedPurchaseNotification": "VOIDED_PURCHASE",
    "oneTimeProductNotification": "ONE_TIME_PRODUCT",
    "pendingRefundReviewNotification": "PENDING_REFUND_REVIEW", "testNotification": "TEST",
  ]

  /// https://developer.android.com/google/play/billing/rtdn-reference#sub
  private static let names: [Int64: String] = [
    1: "RECOVERED", 2: "RENEWED", 3: "CANCELED", 4: "PURCHASED", 5: "ON_HOLD",
    6: "IN_GRACE_PERIOD", 7: "RESTARTED", 8: "PRICE_CHANGE_CONFIRMED", 9: "DEFERRED",
    10: "PAUSED", 11: "PAUSE_SCHEDULE_CHANGED", 12: "REVOKED", 13: "EXPIRED",
    17: "ITEMS_CHANGED", 18: "CANCELLATION_SCHEDULED", 19: "PRICE_CHANGE_UPDATED",
    20: "PENDING_PURCHASE_CANCELED", 22: "PRICE_STEP_UP_CONSENT_UPDATED",
  ]
}
