import Answers
import Base
import Endpoints
package import JSON
import Ledger
import Requests
import Storage
import Subscriptions

/// `GET /v1/payments`: what the account paid or was asked to pay, and what went back, in all stores.
struct GetPayments: AccountRead {
  let ledger: Ledger
  let gate: RequestGate
  let pattern = "/v1/payments"

  func answer(
    _ request: AccountRequest, _ reader: Reader, now: Instant
  ) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    return try ledger.paymentHistory(of: caller.account, at: now, reading: reader).json
  }
}

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
