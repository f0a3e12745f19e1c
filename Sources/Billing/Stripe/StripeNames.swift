package import Subscriptions

extension ObjectKey.Provider {
  package static let stripe = Self("stripe")
}

/// As Stripe names its objects.
extension ObjectKey.Kind {
  package static let invoice = Self("invoice")
  package static let customer = Self("customer")
  package static let refund = Self("refund")
  package static let dispute = Self("dispute")
  package static let charge = Self("charge")
  package static let invoicePayment = Self("invoice_payment")
  package static let checkoutSession = Self("checkout.session")
  /// A payment intent or charge, as what ties refunds and disputes to invoices; no mirror.
  package static let payment = Self("payment")
}
