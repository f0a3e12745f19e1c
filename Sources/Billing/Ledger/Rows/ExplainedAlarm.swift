internal import Subscriptions

extension Coverage.Alarm {
  /// Whether the store's API, asked in today's version, may tell what a delivery of an older one leaves out.
  var mayBeExplained: Bool {
    switch self {
    case .unknownStatus, .activeWithoutPayment: true
    case .unknownProduct, .unmappedProduct, .paidAfterEnd, .unpaidItem, .reversal,
      .irregularPayment:
      false
    }
  }
}
