package import Base

/// That a subscription stands still, for its customer: nothing that is owed follows from it.
package struct Pause: Hashable, Sendable {
  /// Nil where the store does not tell.
  package let since: Instant?
  package let reason: Reason
  /// When the store ends it by itself; nil where it does not, or does not tell.
  package let until: Instant?

  package enum Reason: String, Hashable, Sendable, CaseIterable {
    /// Somebody asked for it.
    case requested
    /// The store's answer to a payment that failed.
    case paymentFailed = "payment_failed"
    /// A trial ended and nothing is there to pay with.
    case noPaymentMethod = "no_payment_method"
    /// The subscription goes on, and no money is asked for meanwhile.
    case collection
    /// The store gives a reason that is not known here, or none.
    case unknown
  }

  package init(since: Instant?, reason: Reason, until: Instant? = nil) {
    self.since = since
    self.reason = reason
    self.until = until
  }
}
