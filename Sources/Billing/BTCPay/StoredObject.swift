import Base
package import JSON
import Stores
package import Subscriptions

extension BTCPayObject {
  package func stored() -> JSONValue {
    switch self {
    case .invoice(let content): content.stored()
    case .settlement(let content):
      ["account": .string(content.account.description), "at": .instant(content.at)]
    }
  }

  package init(stored json: JSON, kind: ObjectKey.Kind) throws(JSONError) {
    switch kind {
    case .prepaidInvoice: self = .invoice(try BTCPayInvoice(stored: json))
    case .settlement: self = .settlement(try BTCPaySettlement(stored: json))
    default: throw json.failure("must be an invoice or its settlement")
    }
  }
}

extension BTCPayInvoice {
  fileprivate func stored() -> JSONValue {
    .members([
      ("account", account.map { .string($0.description) }),
      ("product", product.map { .string($0) }),
      ("amount", amount.map { .string($0.description) }), ("currency", .string(currency)),
      ("paid", paidAmount.map { .string($0.description) }), ("status", .string(status.text)),
      ("additional", additional == .nothing ? nil : .string(additional.rawValue)),
      ("created", .instant(created)),
    ])
  }

  fileprivate init(stored json: JSON) throws(JSONError) {
    self.init(
      account: json["account"].string.flatMap { Identifier($0) }, product: json["product"].string,
      amount: try json["amount"].optionalAmount(), currency: try json["currency"].requireString(),
      paidAmount: try json["paid"].optionalAmount(),
      status: Status(try json["status"].requireString()),
      additional: json["additional"].string.map { AdditionalStatus(rawValue: $0) ?? .other }
        ?? .nothing,
      created: try json["created"].requireStoredInstant())
  }
}

extension BTCPaySettlement {
  fileprivate init(stored json: JSON) throws(JSONError) {
    guard let account = Identifier(try json["account"].requireString()) else {
      throw json["account"].failure("must be an account")
    }
    self.init(account, at: try json["at"].requireStoredInstant())
  }
}
