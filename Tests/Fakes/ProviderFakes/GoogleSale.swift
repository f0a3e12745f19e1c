package import Base

/// One purchase as Google Play keeps it: everything that a read shows, and what the truth is.
struct GoogleSale: Sendable {
  let token: String
  let isTest: Bool
  /// Whose money it was; Google knows only `accountID`.
  let owner: Identifier?
  /// `obfuscatedExternalAccountId`, once somebody told it to Google.
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
  /// Counts the changes that a read shows; its etag.
  var version: Int64 = 0
  // The truth, from what was sold and never from what a read showed.
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
    /// Nil while it is not owned: pending, or about to replace another one.
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

  /// A declined renewal and how far its retries are.
  struct Trouble: Sendable {
    let declined: Instant
    /// When the present stage (silence, grace or hold) ends unpaid.
    var until: Instant
    /// The one item whose own date it was; the others had time left.
    var item: String?
    /// Whether those come back with the orders that paid for them.
    var keepsOrders = true
  }

  var terms: GoogleTerms { GoogleTerms(isTest: isTest) }
  var plan: GooglePlan { items[0].plan }
  var expiry: Instant? { items.compactMap(\.expiry).max() }

  /// What happens next by itself.
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

/// How a plan change treats the money that is left (`replacementMode`).
package enum GoogleReplacementMode: String, Sendable, CaseIterable {
  /// At once; what is left of the old plan becomes time of the new one.
  case withTimeProration = "WITH_TIME_PRORATION"
  /// At once; the renewal date stays.
  case chargeProratedPrice = "CHARGE_PRORATED_PRICE"
  /// At once and unpaid until the old plan's renewal date.
  case withoutProration = "WITHOUT_PRORATION"
  /// At once with a whole new period.
  case chargeFullPrice = "CHARGE_FULL_PRICE"
  /// At the old plan's renewal date.
  case deferred = "DEFERRED"
}

/// What really was sold by one purchase: the oracle that a reader's conclusions are held against.
package struct GoogleTruth: Sendable {
  package let token: String
  package let account: Identifier?
  /// Paid for, or given by the store (a trial, deferred time), less what was refunded.
  package let paid: [Period]
  /// In which the store keeps access though a renewal was declined: silent retries and grace.
  package let graces: [Period]
  /// Over when the customer's bank took their money back; access was right while they lasted.
  package let chargedBack: [Period]
  /// When the customer's money goes back unless somebody acknowledged.
  package let acknowledgeBy: Instant?
  package let acknowledged: Instant?

  package struct Period: Hashable, Sendable {
    package let productID: String
    package let orderID: String
    package let from: Instant
    package let to: Instant
  }

  /// Nil while it can still be done.
  package func wasAcknowledgedInTime(at now: Instant) -> Bool? {
    guard let acknowledgeBy else { return nil }
    if let acknowledged { return acknowledged < acknowledgeBy }
    return now < acknowledgeBy ? nil : false
  }

  /// Whether the customer has, or had, a right to `productID`, by money or by the store's grace.
  package func isOwed(_ productID: String, at now: Instant) -> Bool {
    (paid + graces + chargedBack).contains {
      $0.productID == productID && $0.from <= now && now < $0.to
    }
  }
}
