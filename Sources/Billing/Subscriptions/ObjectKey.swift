/// Names one object of one provider in one partition, for ever.
package struct ObjectKey: Hashable, Sendable {
  package let provider: Provider
  package let partition: Partition
  package let kind: Kind
  /// The provider's own id, e.g. `sub_1Pgc6rB7WZ01zgkW`.
  package let id: String

  package init(provider: Provider, partition: Partition, kind: Kind, id: String) {
    self.provider = provider
    self.partition = partition
    self.kind = kind
    self.id = id
  }

  package enum Provider: String, Sendable, CaseIterable { case stripe, apple, google }

  /// Which of a provider's two worlds an object belongs to; they never mix.
  package enum Partition: String, Sendable, CaseIterable { case live, sandbox }

  package enum Kind: String, Sendable, CaseIterable {
    /// Stripe's, or an App Store subscription by its original transaction.
    case subscription
    case invoice, customer, refund, dispute, charge
    case invoicePayment = "invoice_payment"
    case checkoutSession = "checkout.session"
    /// A Stripe payment intent or charge, as what ties refunds and disputes to invoices; no mirror.
    case payment
    case transaction, renewal, status
    case purchase, order
    /// A plan given by an admin: evidence, no object of a provider.
    case grant
  }
}

extension ObjectKey: CustomStringConvertible {
  /// The one text form, as in the database: `stripe:live:invoice:in_1Pgc6tB7WZ01zgkW`.
  package var description: String {
    "\(provider.rawValue):\(partition.rawValue):\(kind.rawValue):\(id)"
  }

  /// Reads what `description` wrote.
  package init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 3).map(String.init)
    guard parts.count == 4, let provider = Provider(rawValue: parts[0]),
      let partition = Partition(rawValue: parts[1]), let kind = Kind(rawValue: parts[2])
    else { return nil }
    self.init(provider: provider, partition: partition, kind: kind, id: parts[3])
  }
}

extension ObjectKey: Comparable {
  package static func < (a: ObjectKey, b: ObjectKey) -> Bool { a.description < b.description }
}
