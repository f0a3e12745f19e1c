package import Subscriptions

extension StripeObject {
  /// The links between this object, which `key` names, and the objects that it names.
  ///
  /// A payment and its invoice are linked both ways, whichever object reports it. A record is found
  /// from its subscription, and a refund's subscription from its payment.
  package func links(from key: ObjectKey) -> [Link] {
    switch self {
    case .subscription(let content):
      content.customer.map { [Link(key, .part, of: key.sibling(.customer, $0))] } ?? []
    case .invoice(let content): content.links(from: key)
    case .invoicePayment(let content): content.links(from: key)
    case .charge(let content): content.links(from: key)
    case .refund(let content):
      Link.payment(of: key, content.paymentIntent, charge: content.charge)
    case .dispute(let content):
      Link.payment(of: key, content.paymentIntent, charge: content.charge)
    case .checkoutSession(let content):
      content.subscription.map { [Link(key, .part, of: key.sibling(.subscription, $0))] } ?? []
    case .customer: []
    }
  }

  /// The payment to search for if no known invoice was paid by it; nil unless the object is a reversal.
  package func searched(from key: ObjectKey) -> ObjectKey? {
    switch self {
    case .refund, .dispute: break
    case .charge(let charge) where charge.amountRefunded > 0: break
    case .subscription, .invoice, .invoicePayment, .charge, .checkoutSession, .customer: return nil
    }
    return links(from: key).first { $0.target.kind == .payment && $0.origin == key }?.target
  }
}

extension StripeInvoice {
  /// An invoice without a subscription is about some other purchase, and so are its payments.
  fileprivate func links(from key: ObjectKey) -> [Link] {
    guard let subscription else { return [] }
    return [Link(key, .bridge, of: key.sibling(.subscription, subscription))]
      + payments.flatMap { Link.both(key, key.sibling(.payment, $0)) }
  }
}

extension StripeInvoicePayment {
  fileprivate func links(from key: ObjectKey) -> [Link] {
    let invoice = key.sibling(.invoice, invoice)
    return [Link(key, .part, of: invoice)]
      + (payment.map { Link.both(invoice, key.sibling(.payment, $0)) } ?? [])
  }
}

extension StripeCharge {
  fileprivate func links(from key: ObjectKey) -> [Link] {
    let payment = key.sibling(.payment, paymentIntent ?? key.id)
    return Link.payment(of: key, paymentIntent, charge: key.id)
      + (invoice.map { Link.both(key.sibling(.invoice, $0), payment) } ?? [])
  }
}

extension Link {
  /// Links two objects so that each, with what is linked to it, is found from the other.
  fileprivate static func both(_ a: ObjectKey, _ b: ObjectKey) -> [Link] {
    [Link(a, .bridge, of: b), Link(b, .bridge, of: a)]
  }

  /// An object names the payment intent, the charge, or both. If both, they are one payment.
  fileprivate static func payment(
    of key: ObjectKey, _ intent: String?, charge: String?
  ) -> [Link] {
    let payments = [intent, charge].compactMap { $0 }.map { key.sibling(.payment, $0) }
    return payments.map { Link(key, .part, of: $0) }
      + (payments.count == 2 ? both(payments[0], payments[1]) : [])
  }
}
