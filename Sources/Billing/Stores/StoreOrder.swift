package import Base
package import Tiers

/// What a store is to do about a purchase.
package enum StoreOrder: Sendable, Equatable {
  /// Nothing is billed any more, nor what is owed; what was paid for goes on to its end.
  case stopRenewal
  /// It ends now.
  case end
  /// Money goes back: so much of a payment, or all that is left of it. The payment is named as `Bill`
  /// names it; `name` is no other order's, by which a store tells the same one, sent again, from another.
  case refund(payment: String, amount: Money?, name: String)
  /// Days are given: what is paid for ends so much later, and renews then. Nothing is done where it ends at
  /// another moment than `knownEnd`, so that the same order, sent again, gives them once.
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

/// Why days are given, as far as a store asks.
package enum ExtensionCause: String, Sendable, CaseIterable {
  case satisfaction, outage, other
}
