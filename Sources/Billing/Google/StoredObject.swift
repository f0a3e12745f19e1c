import Base
package import JSON
import Stores
package import Subscriptions
import Tiers

extension GoogleObject {
  package func stored() -> JSONValue {
    switch self {
    case .purchase(let content): content.stored()
    case .order(let content):
      .members([
        ("purchase", .string(content.purchase)), ("state", .string(content.state.rawValue)),
        ("created", .optional(content.created)),
        ("total", content.total.map { .string($0.amount) }),
        ("currency", content.total.map { .string($0.currency) }),
        ("line", content.line.map { $0.stored() }),
        ("refunds", content.refunds.isEmpty ? nil : .array(content.refunds.map { $0.stored() })),
      ])
    }
  }

  package init(stored json: JSON, kind: ObjectKey.Kind) throws(JSONError) {
    switch kind {
    case .purchase: self = .purchase(try GooglePurchase(stored: json))
    case .order:
      self = .order(
        GoogleOrder(
          purchase: try json["purchase"].requireString(),
          state: GoogleOrder.State(rawValue: try json["state"].requireString()) ?? .other,
          created: json["created"].storedInstant, total: Money(stored: json),
          line: json["line"].isObject ? try GoogleOrder.Line(stored: json["line"]) : nil,
          refunds: json["refunds"].exists
            ? try json["refunds"].requireArray().map { refund throws(JSONError) in
              try GoogleOrder.Refund(stored: refund)
            } : []))
    default: throw json.failure("must be a mirrored Google object")
    }
  }
}

extension Money {
  fileprivate init?(stored json: JSON) {
    guard let amount = json["total"].string, let currency = json["currency"].string else {
      return nil
    }
    self.init(amount: amount, currency: currency)
  }
}

extension GoogleOrder.Line {
  fileprivate func stored() -> JSONValue {
    .members([
      ("product", .string(productID)), ("basePlan", basePlanID.map { .string($0) }),
      ("from", .optional(from)), ("to", .optional(to)),
    ])
  }

  fileprivate init(stored json: JSON) throws(JSONError) {
    self.init(
      productID: try json["product"].requireString(), basePlanID: json["basePlan"].string,
      from: json["from"].storedInstant, to: json["to"].storedInstant)
  }
}

extension GoogleOrder.Refund {
  fileprivate func stored() -> JSONValue {
    .members([
      ("at", .optional(at)), ("total", total.map { .string($0.amount) }),
      ("currency", total.map { .string($0.currency) }),
    ])
  }

  fileprivate init(stored json: JSON) throws(JSONError) {
    self.init(at: try json["at"].requireStoredInstant(), total: Money(stored: json))
  }
}

extension GooglePurchase {
  fileprivate func stored() -> JSONValue {
    .members([
      ("state", .string(state.text)), ("start", .optional(startTime)),
      ("items", .array(items.map { $0.stored() })),
      ("replaces", replaces.map { .string($0) }), ("continues", continues.map { .string($0) }),
      ("account", account.map { .string($0.description) }),
      ("isAcknowledged", isAcknowledged ? true : nil), ("isTest", isTest ? true : nil),
      ("isReplaced", isCanceledByReplacement ? true : nil), ("ended", .optional(ended)),
      ("resumes", .optional(resumes)), ("canceled", .optional(canceled)),
    ])
  }

  fileprivate init(stored json: JSON) throws(JSONError) {
    self.init(
      state: State(try json["state"].requireString()), startTime: json["start"].storedInstant,
      items: try json["items"].requireArray().map { item throws(JSONError) in
        try Item(stored: item)
      },
      replaces: json["replaces"].string, continues: json["continues"].string,
      account: json["account"].string.flatMap { Identifier($0) },
      isAcknowledged: json["isAcknowledged"].bool ?? false, isTest: json["isTest"].bool ?? false,
      isCanceledByReplacement: json["isReplaced"].bool ?? false,
      ended: json["ended"].storedInstant, resumes: json["resumes"].storedInstant,
      canceled: json["canceled"].storedInstant)
  }
}

extension GooglePurchase.Item {
  fileprivate func stored() -> JSONValue {
    .members([
      ("product", .string(productID)), ("basePlan", basePlanID.map { .string($0) }),
      ("to", .optional(expiryTime)), ("renews", autoRenews ? true : nil),
      ("isFreeTrial", isFreeTrial ? true : nil), ("order", latestOrderID.map { .string($0) }),
      ("isLeaving", isLeaving ? true : nil), ("next", nextProductID.map { .string($0) }),
    ])
  }

  fileprivate init(stored json: JSON) throws(JSONError) {
    self.init(
      productID: try json["product"].requireString(), basePlanID: json["basePlan"].string,
      expiryTime: json["to"].storedInstant, autoRenews: json["renews"].bool ?? false,
      isFreeTrial: json["isFreeTrial"].bool ?? false, latestOrderID: json["order"].string,
      isLeaving: json["isLeaving"].bool ?? false, nextProductID: json["next"].string)
  }
}
