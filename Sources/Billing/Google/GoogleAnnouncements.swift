package import Base
import Stores
package import Subscriptions

/// The check of what notifications announce. The API answers from replicas, which may not know of it for
/// minutes: it was seen to call a purchase active two minutes after the report of its revocation.
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
    // A purchase that cannot be read anywhere is over.
    guard let purchase = record.purchase.contents.last else { return nil }
    // An answer with time that was paid for since is not an old one. On hold, no item's later time counts.
    let end = purchase.isGranted ? purchase.end : purchase.ended ?? purchase.end
    let isPaidFurther = end.map { $0 > moment } ?? false
    switch reason {
    case "SUBSCRIPTION_REVOKED": return !purchase.isGranted || !isPaidFurther
    case "SUBSCRIPTION_EXPIRED": return !purchase.isGranted || isPaidFurther
    case "SUBSCRIPTION_ON_HOLD", "SUBSCRIPTION_PAUSED":
      return !purchase.isGranted || isPaidFurther && !purchase.awaitsPayment(at: moment)
    case "SUBSCRIPTION_PURCHASED", "SUBSCRIPTION_RENEWED", "SUBSCRIPTION_RECOVERED":
      return isPaidFurther
    default: return nil
    }
  }
}

extension GooglePurchase {
  /// Whether one of its items was due for a renewal by then, and has no later time. One such item is enough for
  /// a hold of all.
  fileprivate func awaitsPayment(at moment: Instant) -> Bool {
    items.contains { item in
      item.autoRenews && !item.isLeaving && (item.expiryTime.map { $0 <= moment } ?? false)
    }
  }
}
