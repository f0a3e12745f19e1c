package import Tiers

/// What an operator has a store do about a purchase.
package enum StoreOrder: Sendable, Equatable {
  /// Nothing is billed any more; what was paid for goes on to its end.
  case stopRenewal
  /// It ends now.
  case end
  /// Money goes back: so much of a payment, or all that is left of it. The payment is named as `Bill`
  /// names it; `earlierCount` is how many reversals of the purchase are known, so that the same order,
  /// sent again before the store's word of the first has come, is the same one.
  case refund(payment: String, amount: Money?, earlierCount: Int)

  package enum Kind: String, Sendable {
    case stopRenewal = "stop_renewal"
    case end, refund
  }

  package var kind: Kind {
    switch self {
    case .stopRenewal: .stopRenewal
    case .end: .end
    case .refund: .refund
    }
  }
}
