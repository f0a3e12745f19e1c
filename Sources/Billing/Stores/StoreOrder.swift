package import Base
package import Tiers

/// An operator's order to a store about a purchase.
package enum StoreOrder: Sendable, Equatable {
  /// Stops all billing, including what is still owed. What was paid for continues to its end.
  case stopRenewal
  /// Ends the purchase now.
  case end
  /// Refunds an amount of a payment, or all that is left of it. The payment is named as in `Bill`. Every
  /// order has its own `name`, by which a store recognises the same order if it is sent again.
  case refund(payment: String, amount: Money?, name: String)
  /// Extends what was paid for by some days; it renews at the new end. Nothing is done if it ends
  /// at a moment other than `knownEnd`, so an order that is sent again gives the days only once.
  case extend(days: Int64, because: ExtensionCause, knownEnd: Instant?)

  package enum Kind: String, Sendable {
    case stopRenewal = "stop_renewal"
    case end, refund, extend
  }

  package var kind: Kind {
    switch self {
    case .stopRenewal: .stopRenewal
    case .end: .end
    case .refund: .refund
    case .extend: .extend
    }
  }
}

/// Why days are given, as far as a store asks for it.
package enum ExtensionCause: String, Sendable, CaseIterable {
  case satisfaction, outage, other
}
