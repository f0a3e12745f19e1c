import Base
package import JSON
import Stores
package import Subscriptions

extension StripeObject {
  /// The content as compact JSON, for a mirror's row; equal contents give equal bytes.
  package func stored() -> JSONValue {
    switch self {
    case .subscription(let content): content.stored()
    case .invoice(let content): content.stored()
    case .invoicePayment(let content): content.stored()
    case .charge(let content): content.stored()
    case .refund(let content): content.stored()
    case .dispute(let content): content.stored()
    case .checkoutSession(let content): content.stored()
    case .customer: .object([])
    }
  }

  /// Reads what `stored` wrote.
  package init(stored json: JSON, kind: ObjectKey.Kind) throws(JSONError) {
    switch kind {
    case .subscription: self = .subscription(try StripeSubscription(stored: json))
    case .invoice: self = .invoice(try StripeInvoice(stored: json))
    case .invoicePayment: self = .invoicePayment(try StripeInvoicePayment(stored: json))
    case .charge: self = .charge(try StripeCharge(stored: json))
    case .refund: self = .refund(try StripeRefund(stored: json))
    case .dispute: self = .dispute(try StripeDispute(stored: json))
    case .checkoutSession: self = .checkoutSession(try StripeCheckoutSession(stored: json))
    case .customer: self = .customer(StripeCustomer())
    default:
      throw json.failure("must be a mirrored Stripe object")
    }
  }
}

extension StripeSubscription {
  fileprivate func stored() -> JSONValue {
    .members([
      ("customer", customer.map { .string($0) }), ("status", .string(status.text)),
      (
        "items",
        .array(
          items.map {
            .members(
              price: $0.price, product: $0.product,
              [
                ("id", $0.id.map { .string($0) }),
                ("quantity", $0.quantity == 1 ? nil : .integer($0.quantity)),
              ])
          })
      ),
      ("cancelAtPeriodEnd", cancelAtPeriodEnd ? true : nil), ("cancelAt", .optional(cancelAt)),
      ("canceledAt", .optional(canceledAt)), ("endedAt", .optional(endedAt)),
      ("endedByFailedPayment", endedByFailedPayment ? true : nil),
      ("trialStart", .optional(trialStart)), ("trialEnd", .optional(trialEnd)),
      ("collectionIsPaused", collectionIsPaused ? true : nil),
      ("collectionResumes", .optional(collectionResumes)),
      ("pause", pause.map { .string($0.reason.text) }), ("pausedAt", .optional(pause?.at)),
      ("began", .optional(began)), ("latestInvoice", latestInvoice.map { .string($0) }),
      ("schedule", schedule.map { .string($0) }),
      ("account", account.map { .string($0.description) }),
    ])
  }

  fileprivate init(stored json: JSON) throws(JSONError) {
    self.init(
      customer: json["customer"].string, status: Status(try json["status"].requireString()),
      items: try json["items"].requireArray().map {
        Item(
          id: $0["id"].string, price: $0["price"].string, product: $0["product"].string,
          quantity: $0["quantity"].integer ?? 1)
      },
      cancelAtPeriodEnd: json["cancelAtPeriodEnd"].bool ?? false,
      cancelAt: json["cancelAt"].storedInstant, canceledAt: json["canceledAt"].storedInstant,
      endedAt: json["endedAt"].storedInstant,
      endedByFailedPayment: json["endedByFailedPayment"].bool ?? false,
      trialStart: json["trialStart"].storedInstant, trialEnd: json["trialEnd"].storedInstant,
      collectionIsPaused: json["collectionIsPaused"].bool ?? false,
      collectionResumes: json["collectionResumes"].storedInstant,
      pause: json["pause"].string.map {
        Pause(Pause.Reason($0), at: json["pausedAt"].storedInstant)
      }, began: json["began"].storedInstant, latestInvoice: json["latestInvoice"].string,
      schedule: json["schedule"].string,
      account: json["account"].string.flatMap { Identifier($0) })
  }
}

extension StripeInvoice {
  fileprivate func stored() -> JSONValue {
    .members([
      ("subscription", subscription.map { .string($0) }), ("status", .string(status.rawValue)),
      ("isCycle", isCycle ? true : nil), ("isAttempted", isAttempted ? true : nil),
      ("created", .instant(created)), ("paidAt", .optional(paidAt)),
      ("amountPaid", amountPaid == 0 ? nil : .integer(amountPaid)),
      ("amountDue", amountDue == amountPaid ? nil : .integer(amountDue)),
      ("currency", currency.map { .string($0) }), ("dueAt", .optional(dueAt)),
      ("uncollectibleReason", uncollectibleReason.map { .string($0) }),
      ("payments", payments.isEmpty ? nil : .array(payments.map { .string($0) })),
      (
        "lines",
        .array(
          lines.map {
            .members(
              price: $0.price, product: $0.product,
              [
                ("item", $0.item.map { .string($0) }), ("amount", .integer($0.amountMinorUnits)),
                ("isCredit", $0.isCredit ? true : nil), ("from", .instant($0.from)),
                ("to", .instant($0.to)),
              ])
          })
      ),
    ])
  }

  fileprivate init(stored json: JSON) throws(JSONError) {
    self.init(
      subscription: json["subscription"].string, status: try json["status"].requireCase(),
      isCycle: json["isCycle"].bool ?? false, isAttempted: json["isAttempted"].bool ?? false,
      created: try json["created"].requireStoredInstant(), paidAt: json["paidAt"].storedInstant,
      amountPaid: json["amountPaid"].integer ?? 0, amountDue: json["amountDue"].integer,
      currency: json["currency"].string, dueAt: json["dueAt"].storedInstant,
      uncollectibleReason: json["uncollectibleReason"].string,
      payments: json["payments"].exists
        ? try json["payments"].requireArray().map { payment throws(JSONError) in
          try payment.requireString()
        } : [],
      lines: try json["lines"].requireArray().map { line throws(JSONError) in
        Line(
          item: line["item"].string, price: line["price"].string,
          product: line["product"].string,
          amountMinorUnits: try line["amount"].requireInteger(), isCredit: line["isCredit"].bool,
          from: try line["from"].requireStoredInstant(),
          to: try line["to"].requireStoredInstant())
      })
  }
}

extension StripeCheckoutSession {
  fileprivate func stored() -> JSONValue {
    .members([
      ("subscription", subscription.map { .string($0) }), ("isOpen", isOpen ? true : nil),
      ("account", account.map { .string($0.description) }),
    ])
  }

  fileprivate init(stored json: JSON) throws(JSONError) {
    self.init(
      subscription: json["subscription"].string, isOpen: json["isOpen"].bool ?? false,
      account: json["account"].string.flatMap { Identifier($0) })
  }
}

extension JSONValue {
  fileprivate static func members(
    price: String?, product: String?, _ others: [(String, JSONValue?)]
  ) -> JSONValue {
    members(
      [("price", price.map { .string($0) }), ("product", product.map { .string($0) })] + others)
  }
}
