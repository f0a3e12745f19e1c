import Subscriptions

extension Coverage.Alarm {
  /// Whether the store's API in its current version may explain what a delivery of an older one leaves out.
  var mayBeExplained: Bool {
    switch self {
    case .unknownStatus, .activeWithoutPayment: true
    case .unknownProduct, .unmappedProduct, .paidAfterEnd, .unpaidItem, .reversal,
      .irregularPayment:
      false
    }
  }
}
