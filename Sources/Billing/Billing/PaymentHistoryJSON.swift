import Answers
import Base
package import JSON
import Subscriptions

extension PaymentHistory {
  /// The payments as clients read them; OpenAPI/billing.json has the schema.
  package var json: JSONValue {
    [
      "payments": .array(payments.map { Self.json(of: $0.payment, $0.subscription) }),
      "reversals": .array(reversals.map { Self.json(of: $0.reversal, $0.subscription) }),
    ]
  }

  private static func json(of payment: Bill.Payment, _ subscription: ObjectKey) -> JSONValue {
    [
      "id": .string(payment.object.name),
      "subscription": .string(subscription.description),
      "store": .string(subscription.provider.rawValue), "state": .string(payment.state.rawValue),
      "at": .string(payment.at.description), "amount": payment.amount?.json ?? .null,
      "product": payment.product.map { .string($0) } ?? .null,
      "price": payment.price.map { .string($0) } ?? .null,
      "from": .optional(payment.from), "to": .optional(payment.to),
    ]
  }

  private static func json(of reversal: Bill.Reversal, _ subscription: ObjectKey) -> JSONValue {
    [
      "id": .string(reversal.object.name),
      "subscription": .string(subscription.description),
      "store": .string(subscription.provider.rawValue), "kind": .string(reversal.kind.rawValue),
      "state": .string(reversal.state.rawValue), "at": .string(reversal.at.description),
      "amount": reversal.amount?.json ?? .null,
      "payment": reversal.payment.map { .string($0.name) } ?? .null,
    ]
  }
}

extension Coverage.Evidence {
  fileprivate var name: String { "\(kind.rawValue):\(id)" }
}
