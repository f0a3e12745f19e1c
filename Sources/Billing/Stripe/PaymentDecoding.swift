import Base
import JSON
import Stores
import Subscriptions

extension StripeInvoicePayment {
  /// Exists since basil (2025-03-31). A payment recorded from outside Stripe has no id to refund by.
  init(_ json: JSON) throws(JSONError) {
    let payment = json["payment"]
    self.init(
      invoice: try json["invoice"].requireReference(),
      payment: payment["payment_intent"].reference ?? payment["charge"].reference,
      status: try json["status"].requireCase())
  }
}

extension StripeCharge {
  init(_ json: JSON) throws(JSONError) {
    self.init(
      paymentIntent: json["payment_intent"].reference, invoice: json["invoice"].reference,
      amountRefunded: try json["amount_refunded"].requireInteger(),
      currency: json["currency"].reference)
  }
}

extension StripeReversal {
  /// Reads Stripe's JSON; `status` reads the member of that name.
  fileprivate init(
    _ json: JSON, status: (JSON) throws(JSONError) -> State
  ) throws(JSONError) {
    self.init(
      paymentIntent: json["payment_intent"].reference, charge: json["charge"].reference,
      amountMinorUnits: try json["amount"].requireInteger(),
      currency: json["currency"].reference,
      created: try json["created"].requireInstant(),
      status: try status(json["status"]))
  }
}

extension StripeReversal<StripeRefundStatus> {
  /// A null status means that nothing has been reported about the refund yet.
  init(_ json: JSON) throws(JSONError) {
    try self.init(json) { (status) throws(JSONError) in
      status.isNull ? .pending : try State(status)
    }
  }
}

extension StripeReversal<StripeDisputeStatus> {
  init(_ json: JSON) throws(JSONError) {
    try self.init(json) { (status) throws(JSONError) in
      State(try status.requireID())
    }
  }
}
