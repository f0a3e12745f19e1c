package import Base
package import Configuration
package import Subscriptions

/// What a store asks before it decides whether a customer gets his money back.
package struct RefundQuestion: Sendable {
  /// What was paid with, by the store's own object of it.
  package let payment: ObjectKey
  /// What the answer must carry so that the store takes it for one.
  package let secret: Secret?

  package init(_ payment: ObjectKey, secret: Secret? = nil) {
    self.payment = payment
    self.secret = secret
  }
}

/// All that a store is told of a customer, who agreed to it.
package struct RefundEvidence: Sendable {
  /// How much of what was bought is in use, in thousandths of a percent, from 0 to 100,000.
  package let usedMilliunits: Int64
  /// Whether everybody can try it without paying.
  package let hasFreePlan: Bool
  /// What the operator would have the store do.
  package let preference: RefundAnswers

  package init(usedMilliunits: Int64, hasFreePlan: Bool, preference: RefundAnswers) {
    self.usedMilliunits = usedMilliunits
    self.hasFreePlan = hasFreePlan
    self.preference = preference
  }
}
