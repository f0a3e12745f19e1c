import Answers
import Base
package import JSON
import Subscriptions
import Tiers

extension SubscriptionOverview {
  /// The overview as clients read it; OpenAPI/billing.json has the schema.
  package var json: JSONValue {
    let main = main
    return [
      "account": .string(account.description),
      "state": .string(main?.label.rawValue ?? "none"),
      "plan": .string(current.planID), "cap": .integer(current.capByteCount),
      "reason": .string(current.reason.rawValue),
      "store": main.map { .string($0.key.provider.rawValue) } ?? .null,
      "valid_until": .optional(main?.validUntil), "access_ends": .optional(accessEnds),
      "will_renew": .bool(main?.willRenew ?? false),
      "grace": main?.grace?.json ?? .null, "problem": problem ?? .null,
      "actions": .array(actions.map(\.json)), "first_purchase": .bool(isFirstPurchase),
      "subscriptions": .array(subscriptions.map { json(of: $0) }),
    ]
  }

  private func json(of one: Subscription) -> JSONValue {
    [
      "id": .string(one.key.description), "store": .string(one.key.provider.rawValue),
      "environment": .string(one.environment.rawValue), "state": .string(one.label.rawValue),
      "plan": one.planID.map { .string($0) } ?? .null, "valid_until": .optional(one.validUntil),
      "will_renew": .bool(one.willRenew), "grace": one.grace?.json ?? .null,
      "payment_failed": one.failure?.json ?? .null, "paused": one.pause?.json ?? .null,
      "items": .array(
        one.items.map { item in
          [
            "product": item.product.map { .string($0) } ?? .null,
            "price": item.price.map { .string($0) } ?? .null, "leaving": .bool(item.isLeaving),
          ]
        }),
      "actions": .array(actions(of: one).map(\.json)),
    ]
  }

  /// The current problem, in words for the customer; nil if there is none.
  private var problem: JSONValue? {
    guard let main, current.reason != .granted else { return nil }
    let code: String
    var detail: String
    if let pause = main.pause {
      (code, detail) = ("paused", pause.reason.sentence)
    } else if main.failure != nil {
      code = "payment_failed"
      detail = "The last payment failed. "
      detail += main.grace.map { "The plan stays until \($0.until). " } ?? ""
      detail += "Update the payment method to keep the plan. Nothing is deleted."
    } else {
      switch current.reason {
      case .refunded: (code, detail) = ("refunded", "The payment was refunded.")
      case .disputed:
        (code, detail) = (
          "disputed", "The bank disputes the payment; the plan is suspended until it decides."
        )
      case .contested:
        (code, detail) = (
          "contested", "The bank disputes the payment; the plan stays active meanwhile."
        )
      case .leeway, .storeUnreachable:
        (code, detail) = ("renewal_pending", "The store has not reported the renewal yet.")
      default: return nil
      }
    }
    return ["code": .string(code), "detail": .string(detail)]
  }
}

extension Pause.Reason {
  fileprivate var sentence: String {
    switch self {
    case .requested: "The subscription was paused on request. Resume it to continue."
    case .paymentFailed:
      "The subscription is paused because a payment failed. Update the payment method to continue."
    case .noPaymentMethod:
      "The trial ended without a payment method. Add one to continue."
    case .collection: "Payments are paused at the moment; the plan continues."
    case .unknown: "The store has paused the subscription."
    }
  }
}

extension SubscriptionOverview.Grace {
  fileprivate var json: JSONValue {
    ["since": .string(since.description), "until": .string(until.description)]
  }
}

extension SubscriptionOverview.Failure {
  fileprivate var json: JSONValue {
    ["since": .string(since.description), "amount": amount?.json ?? .null]
  }
}

extension Pause {
  fileprivate var json: JSONValue {
    ["since": .optional(since), "reason": .string(reason.rawValue)]
  }
}

extension JSONValue {
  static func optional(_ instant: Instant?) -> JSONValue {
    instant.map { .string($0.description) } ?? .null
  }
}

extension Money {
  var json: JSONValue { ["amount": .string(amount), "currency": .string(currency)] }
}
