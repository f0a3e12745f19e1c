/// What money that goes back does to the period it paid for: policy, as a table.
package struct ReversalTable: Hashable, Sendable {
  /// What happened to the money.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// All that was paid for the period went back, in however many refunds.
    case fullRefund = "full_refund"
    case partialRefund = "partial_refund"
    /// The store gave back a portion of the price and took the rest of the period.
    case proratedRefund = "prorated_refund"
    /// A refund was itself undone.
    case refundReversed = "refund_reversed"
    /// A refund never reached the customer, or was called off.
    case refundFailed = "refund_failed"
    case disputeOpened = "dispute_opened"
    case disputeWon = "dispute_won"
    case disputeLost = "dispute_lost"
    /// The family member who bought stopped sharing.
    case familyRevoke = "family_revoke"
    /// Who pays for a seat took it back from its holder.
    case assignmentRevoke = "assignment_revoke"
    /// The store says in a word that we do not know that it took a period back.
    case unknownRevocation = "unknown_revocation"
    /// The store says an order is void; the purchase itself tells what that means for access.
    case voidedOrder = "voided_order"
  }

  /// Which period the money had paid for.
  package enum Scope: String, Hashable, Sendable, CaseIterable {
    /// An earlier one than the last.
    case past
    /// The last one paid for.
    case current
    /// Unknown: the payment cannot be tied to any period.
    case unbound
  }

  package enum Effect: String, Hashable, Sendable, CaseIterable {
    case none
    /// An alarm, and nothing else.
    case flag
    /// No access by that period from then on, for as long as the reversal stands.
    case suspend
    /// No access by that period from then on.
    case cut
  }

  /// What one kind does, by scope.
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

  /// A kind without a row does nothing.
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
