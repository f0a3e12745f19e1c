package import Tiers

/// What an operator has a store do about a purchase.
package enum StoreOrder: Sendable, Equatable {
  /// Nothing is billed any more, nor what is owed; what was paid for goes on to its end.
  case stopRenewal
  /// It ends now.
  case end
  /// Money goes back: so much of a payment, or all that is left of it. The payment is named as `Bill`
  /// names it; `earlierCount` is how many refunds of that payment are known, so that the same order, sent
  /// again before the store's word of the first has come, is the same one.
  case refund(payment: String, amount: Money?, earlierCount: Int)
  /// Days are given: what is paid for ends so much later, and renews then.
  case extend(days: Int64, because: ExtensionCause)

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

extension StoreOrder.Kind {
  /// Whether the same, done twice, does no more than once, whatever is known of it.
  package var isRepeatable: Bool {
    switch self {
    case .stopRenewal, .end: true
    case .refund, .extend: false
    }
  }
}

/// Why days are given, as far as a store asks.
package enum ExtensionCause: String, Sendable, CaseIterable {
  case satisfaction, outage, other
}
