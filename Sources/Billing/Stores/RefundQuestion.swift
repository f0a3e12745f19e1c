package import Base
package import Configuration
package import Subscriptions

/// A store's question before it decides whether a customer gets a refund.
package struct RefundQuestion: Sendable {
  /// The payment in question, as the store's own object.
  package let payment: ObjectKey
  /// A value that the answer must carry so that the store accepts it.
  package let secret: Secret?

  package init(_ payment: ObjectKey, secret: Secret? = nil) {
    self.payment = payment
    self.secret = secret
  }
}

/// Everything that is reported to a store about a customer, with the customer's consent.
package struct RefundEvidence: Sendable {
  /// How much of the purchase is in use, in thousandths of a percent, from 0 to 100,000.
  package let usedMilliunits: Int64
  /// Whether everyone can try the product without paying.
  package let hasFreePlan: Bool
  /// The decision that the operator prefers.
  package let preference: RefundAnswers

  package init(usedMilliunits: Int64, hasFreePlan: Bool, preference: RefundAnswers) {
    self.usedMilliunits = usedMilliunits
    self.hasFreePlan = hasFreePlan
    self.preference = preference
  }
}
