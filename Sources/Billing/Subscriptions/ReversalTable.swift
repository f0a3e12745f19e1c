/// The effect of returned money on the period that it paid for: policy, as a table.
package struct ReversalTable: Hashable, Sendable {
  /// The event that happened to the money.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// All that was paid for the period was returned, in any number of refunds.
    case fullRefund = "full_refund"
    case partialRefund = "partial_refund"
    /// The store returned a part of the price and ended the rest of the period.
    case proratedRefund = "prorated_refund"
    /// A refund was itself undone.
    case refundReversed = "refund_reversed"
    /// A refund never reached the customer, or was cancelled.
    case refundFailed = "refund_failed"
    case disputeOpened = "dispute_opened"
    case disputeWon = "dispute_won"
    case disputeLost = "dispute_lost"
    /// The family member who bought it stopped sharing.
    case familyRevoke = "family_revoke"
    /// The payer of a seat took it back from its holder.
    case assignmentRevoke = "assignment_revoke"
    /// The store revoked a period for a reason that is unknown here.
    case unknownRevocation = "unknown_revocation"
    /// The store reports an order as void; the purchase itself shows what that means for access.
    case voidedOrder = "voided_order"
  }

  /// The period that the money had paid for.
  package enum Scope: String, Hashable, Sendable, CaseIterable {
    /// A period before the last one paid for.
    case past
    /// The last one paid for.
    case current
    /// Unknown: the payment cannot be matched to any period.
    case unbound
  }

  package enum Effect: String, Hashable, Sendable, CaseIterable {
    case none
    /// Only an alarm.
    case flag
    /// The period gives no access from then on, for as long as the reversal is in effect.
    case suspend
    /// The period gives no access from then on.
    case cut
  }

  /// The effect of one kind, by scope.
  package struct Row: Hashable, Sendable {
    package let past: Effect
    package let current: Effect
    package let unbound: Effect

    package init(past: Effect, current: Effect, unbound: Effect) {
      self.past = past
      self.current = current
      self.unbound = unbound
    }
  }

  private let rows: [Kind: Row]

  /// A kind without a row has no effect.
  package init(_ rows: [Kind: Row]) { self.rows = rows }

  package func effect(of kind: Kind, on scope: Scope) -> Effect {
    guard let row = rows[kind] else { return .none }
    return switch scope {
    case .past: row.past
    case .current: row.current
    case .unbound: row.unbound
    }
  }

  package static let standard = ReversalTable([
    .fullRefund: Row(past: .cut, current: .cut, unbound: .flag),
    .partialRefund: Row(past: .flag, current: .flag, unbound: .flag),
    .proratedRefund: Row(past: .cut, current: .cut, unbound: .flag),
    .refundReversed: Row(past: .none, current: .none, unbound: .none),
    .refundFailed: Row(past: .none, current: .none, unbound: .flag),
    .disputeOpened: Row(past: .flag, current: .flag, unbound: .flag),
    .disputeWon: Row(past: .none, current: .none, unbound: .none),
    .disputeLost: Row(past: .cut, current: .cut, unbound: .flag),
    .familyRevoke: Row(past: .cut, current: .cut, unbound: .flag),
    .assignmentRevoke: Row(past: .cut, current: .cut, unbound: .flag),
    .unknownRevocation: Row(past: .flag, current: .flag, unbound: .flag),
    .voidedOrder: Row(past: .flag, current: .flag, unbound: .flag),
  ])
}
