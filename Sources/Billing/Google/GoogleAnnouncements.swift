package import Base
internal import Stores
package import Subscriptions

/// What notifications announce. The API answers from replicas, which may not have heard of it for minutes: it
/// was seen to call a purchase active two minutes after its revocation was told.
extension GoogleStore {
  package func shows(
    _ reason: String, announced moment: Instant, _ record: any StoreRecord
  ) -> Bool? {
    guard let record = record as? GoogleRecord else { return nil }
    if reason.hasPrefix(ReadRequest.orderPrefix) {
      let order = String(reason.dropFirst(ReadRequest.orderPrefix.count))
      return record.orders[order]?.contents.contains {
        $0.state == .refunded || $0.state == .canceled
      } ?? false
    }
    // What is nowhere to be read is over.
    guard let purchase = record.purchase.contents.last else { return nil }
    // A time that was paid for since is no answer of before.
    let isPaidFurther = purchase.lastExpiry.map { $0 > moment } ?? false
    switch reason {
    case "SUBSCRIPTION_REVOKED": return !purchase.isGranted || !isPaidFurther
    case "SUBSCRIPTION_EXPIRED", "SUBSCRIPTION_ON_HOLD", "SUBSCRIPTION_PAUSED":
      return !purchase.isGranted || isPaidFurther
    case "SUBSCRIPTION_PURCHASED", "SUBSCRIPTION_RENEWED", "SUBSCRIPTION_RECOVERED":
      return isPaidFurther
    default: return nil
    }
  }
}

extension GooglePurchase {
  fileprivate var isGranted: Bool {
    switch state {
    case .active, .inGracePeriod, .canceled: true
    case .paused, .onHold, .expired, .pending, .pendingPurchaseCanceled, .other: false
    }
  }

  fileprivate var lastExpiry: Instant? { items.compactMap(\.expiryTime).max() }
}
