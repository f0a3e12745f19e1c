package import Base

/// One purchase as Google Play keeps it: everything that a read shows, and the truth.
struct GoogleSale: Sendable {
  let token: String
  let isTest: Bool
  /// The true owner of the money; Google knows only `accountID`.
  let owner: Identifier?
  /// `obfuscatedExternalAccountId`, once Google has been given it.
  var accountID: String?
  var state = State.pending
  var start: Instant?
  var items: [Item]
  let firstOrder: String
  var renewalCount: Int64 = 0
  var hasWorkingCard = true
  var isAutoRenewing: Bool
  var acknowledged: Instant?
  var acknowledgeBy: Instant?
  var linkedToken: String?
  var outOfApp: OutOfApp?
  var cancellation: Cancellation?
  var scheduledPause: Instant.Span?
  var resumesAt: Instant?
  var trouble: Trouble?
  var pendingOrder: String?
  var ended: Instant?
  /// Counts the changes that a read shows; used as its etag.
  var version: Int64 = 0
  // The truth, from the sales and never from a read.
  var paid: [GoogleTruth.Period] = []
  var graces: [GoogleTruth.Period] = []
  var chargedBack: [GoogleTruth.Period] = []

  enum State: String, Sendable {
    case pending = "PENDING"
    case active = "ACTIVE"
    case paused = "PAUSED"
    case inGracePeriod = "IN_GRACE_PERIOD"
    case onHold = "ON_HOLD"
    case canceled = "CANCELED"
    case expired = "EXPIRED"
    case pendingPurchaseCanceled = "PENDING_PURCHASE_CANCELED"
  }

  struct Item: Sendable {
    var plan: GooglePlan
    /// Nil while it is not owned: pending, or about to replace another item.
    var expiry: Instant?
    var order: String?
    var isTrial = false
    var next: GooglePlan?
    var isLeaving = false
    var replaced: (plan: GooglePlan, mode: GoogleReplacementMode)?
  }

  struct OutOfApp: Sendable {
    let expiredToken: String
    let accountID: String?
  }

  enum Cancellation: Sendable {
    case user(Instant)
    case system
    case developer
    case replacement
  }

  /// A declined renewal, and the stage of its retries.
  struct Trouble: Sendable {
    let declined: Instant
    /// When the present stage (silence, grace or hold) ends without a payment.
    var until: Instant
    /// The single item whose renewal was due; the others had time left.
    var item: String?
    /// Whether the other items come back with the orders that paid for them.
    var keepsOrders = true
  }

  var terms: GoogleTerms { GoogleTerms(isTest: isTest) }
  var plan: GooglePlan { items[0].plan }
  var expiry: Instant? { items.compactMap(\.expiry).max() }

  /// When something next happens by itself.
  var due: Instant? {
    switch state {
    case .pending, .pendingPurchaseCanceled, .expired: return nil
    case .active: return earliest(trouble?.until ?? expiry)
    case .inGracePeriod, .onHold: return earliest(trouble?.until)
    case .paused: return earliest(resumesAt)
    case .canceled: return earliest(trouble?.until ?? expiry)
    }
  }

  private func earliest(_ next: Instant?) -> Instant? {
    let deadline = acknowledged == nil ? acknowledgeBy : nil
    return [next, deadline].compactMap { $0 }.min()
  }

  mutating func setExpiry(_ moment: Instant) {
    for index in items.indices { items[index].expiry = moment }
  }
}

/// How a plan change treats the remaining value (`replacementMode`).
package enum GoogleReplacementMode: String, Sendable, CaseIterable {
  /// At once; the remaining value of the old plan becomes time of the new one.
  case withTimeProration = "WITH_TIME_PRORATION"
  /// At once; the renewal date stays.
  case chargeProratedPrice = "CHARGE_PRORATED_PRICE"
  /// At once and unpaid until the old plan's renewal date.
  case withoutProration = "WITHOUT_PRORATION"
  /// At once, with a whole new period.
  case chargeFullPrice = "CHARGE_FULL_PRICE"
  /// At the old plan's renewal date.
  case deferred = "DEFERRED"
}

/// What one purchase really sold: the oracle that a reader's conclusions are compared with.
package struct GoogleTruth: Sendable {
  package let token: String
  package let account: Identifier?
  /// Paid, or given by the store (a trial, deferred time), less refunds.
  package let paid: [Period]
  /// Periods in which the store keeps access although a renewal was declined: silent retries and grace.
  package let graces: [Period]
  /// Periods that ended when the customer's bank took the payment back; access was right until then.
  package let chargedBack: [Period]
  /// When the customer is refunded unless the purchase is acknowledged.
  package let acknowledgeBy: Instant?
  package let acknowledged: Instant?

  package struct Period: Hashable, Sendable {
    package let productID: String
    package let orderID: String
    package let from: Instant
    package let to: Instant
  }

  /// Nil while it can still be acknowledged.
  package func wasAcknowledgedInTime(at now: Instant) -> Bool? {
    guard let acknowledgeBy else { return nil }
    if let acknowledged { return acknowledged < acknowledgeBy }
    return now < acknowledgeBy ? nil : false
  }

  /// Whether the customer has, or had, a right to `productID`, by payment or by the store's grace.
  package func isOwed(_ productID: String, at now: Instant) -> Bool {
    (paid + graces + chargedBack).contains {
      $0.productID == productID && $0.from <= now && now < $0.to
    }
  }
}
