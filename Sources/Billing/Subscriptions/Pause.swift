package import Base

/// A pause of a subscription, as shown to its customer. Nothing that is owed follows from it.
package struct Pause: Hashable, Sendable {
  /// Nil if the store does not report it.
  package let since: Instant?
  package let reason: Reason
  /// When the store ends the pause by itself; nil if it does not, or does not report it.
  package let until: Instant?

  package enum Reason: String, Hashable, Sendable, CaseIterable {
    /// Someone asked for it.
    case requested
    /// The store's answer to a failed payment.
    case paymentFailed = "payment_failed"
    /// A trial ended and there is no payment method.
    case noPaymentMethod = "no_payment_method"
    /// The subscription continues, and no payments are requested meanwhile.
    case collection
    /// The store gives no reason, or one that is unknown here.
    case unknown
  }

  package init(since: Instant?, reason: Reason, until: Instant? = nil) {
    self.since = since
    self.reason = reason
    self.until = until
  }
}
