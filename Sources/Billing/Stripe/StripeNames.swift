package import Subscriptions

extension ObjectKey.Provider {
  package static let stripe = Self("stripe")
}

/// The names of Stripe's objects.
extension ObjectKey.Kind {
  package static let invoice = Self("invoice")
  package static let customer = Self("customer")
  package static let refund = Self("refund")
  package static let dispute = Self("dispute")
  package static let charge = Self("charge")
  package static let invoicePayment = Self("invoice_payment")
  package static let checkoutSession = Self("checkout.session")
  /// A payment intent or charge, as the tie between invoices and their refunds and disputes. It has
  /// no mirror.
  package static let payment = Self("payment")
}
