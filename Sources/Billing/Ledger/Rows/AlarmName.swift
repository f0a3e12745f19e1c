package import Subscriptions

/// The name of an alarm in metrics, logs and rows.
package enum AlarmName: String, Sendable, CaseIterable {
  case unknownProduct = "unknown_product"
  /// A product that left the catalogue and keeps its plan.
  case unmappedProduct = "unmapped_product"
  case unknownStatus = "unknown_status"
  case paidAfterEnd = "paid_after_end"
  case unpaidItem = "unpaid_item"
  case activeWithoutPayment = "active_without_payment"
  case reversal
  case irregularPayment = "irregular_payment"
  case unplannedEdge = "unplanned_edge"
  case contestedOwner = "contested_owner"
  /// An account pays for two subscriptions at once.
  case doublePayment = "double_payment"
  /// A purchase nears the deadline at which the store takes it back.
  case unacknowledged
  /// A store refuses our key, or is not where the settings say.
  case misconfigured
  /// Reads of a subscription that would renew failed permanently.
  case renewalUnread = "renewal_unread"
}

extension Coverage.Alarm {
  package var name: AlarmName {
    switch self {
    case .unknownProduct: .unknownProduct
    case .unmappedProduct: .unmappedProduct
    case .unknownStatus: .unknownStatus
    case .paidAfterEnd: .paidAfterEnd
    case .unpaidItem: .unpaidItem
    case .activeWithoutPayment: .activeWithoutPayment
    case .reversal: .reversal
    case .irregularPayment: .irregularPayment
    }
  }
}
