import Stores
package import Subscriptions

/// Whether a text has the form of Stripe's ids: the prefix, then letters, digits or underscores.
package func isStripeID(_ text: String, _ prefix: String) -> Bool {
  let rest = text.utf8.dropFirst(prefix.utf8.count)
  return text.hasPrefix(prefix) && isID(text) && !rest.isEmpty
    && rest.allSatisfy {
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20
        || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: "_")
    }
}

extension ObjectKey.Provider {
  package static let stripe = Self("stripe")
}

extension ObjectKey.Kind {
  package static let invoice = Self("invoice")
  package static let customer = Self("customer")
  package static let refund = Self("refund")
  package static let dispute = Self("dispute")
  package static let charge = Self("charge")
  package static let invoicePayment = Self("invoice_payment")
  package static let checkoutSession = Self("checkout.session")
  /// A payment intent or charge, as the tie between invoices and their refunds and disputes. It has no mirror.
  package static let payment = Self("payment")
}
