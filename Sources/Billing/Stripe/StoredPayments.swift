import Base
import JSON
import Stores
import Subscriptions

extension StripeInvoicePayment {
  func stored() -> JSONValue {
    .members([
      ("invoice", .string(invoice)), ("payment", payment.map { .string($0) }),
      ("status", .string(status.rawValue)),
    ])
  }

  init(stored json: JSON) throws(JSONError) {
    self.init(
      invoice: try json["invoice"].requireString(), payment: json["payment"].string,
      status: try json["status"].requireCase())
  }
}

extension StripeCharge {
  func stored() -> JSONValue {
    .members([
      ("paymentIntent", paymentIntent.map { .string($0) }),
      ("invoice", invoice.map { .string($0) }), ("amountRefunded", .integer(amountRefunded)),
      ("currency", currency.map { .string($0) }),
    ])
  }

  init(stored json: JSON) throws(JSONError) {
    self.init(
      paymentIntent: json["paymentIntent"].string, invoice: json["invoice"].string,
      amountRefunded: try json["amountRefunded"].requireInteger(),
      currency: json["currency"].string)
  }
}

extension StripeReversal {
  func stored() -> JSONValue {
    .members([
      ("paymentIntent", paymentIntent.map { .string($0) }), ("charge", charge.map { .string($0) }),
      ("amount", .integer(amountMinorUnits)),
      ("currency", currency.map { .string($0) }), ("created", .instant(created)),
      ("status", .string(status.text)),
    ])
  }

  init(stored json: JSON) throws(JSONError) {
    self.init(
      paymentIntent: json["paymentIntent"].string, charge: json["charge"].string,
      amountMinorUnits: try json["amount"].requireInteger(),
      currency: json["currency"].string,
      created: try json["created"].requireStoredInstant(),
      status: try State(json["status"]))
  }
}
