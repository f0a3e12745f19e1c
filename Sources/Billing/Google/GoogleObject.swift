package import Base
package import Subscriptions
package import Tiers

/// An object of Google Play, reduced to what coverage needs.
package enum GoogleObject: StoreObject {
  /// Identified by the SHA-256 of its token in hexadecimal, because the token itself is half a secret.
  case purchase(GooglePurchase)
  /// Identified by its order id.
  case order(GoogleOrder)

  package func links(from key: ObjectKey) -> [Link] {
    switch self {
    case .purchase(let content):
      [content.replaces, content.continues].compactMap { $0 }.flatMap { older in
        Link.succession(of: key.sibling(.purchase, older), by: key)
      }
    case .order(let content): [Link(key, .part, of: key.sibling(.purchase, content.purchase))]
    }
  }
}

/// A purchase as shown by one read: `SubscriptionPurchaseV2`.
///
/// Google gives no as-of time. The number of the read, `AsOf.readNumber`, orders its values.
package struct GooglePurchase: Mirrored {
  package let state: State
  /// Absent while the first payment is pending.
  package let startTime: Instant?
  package let items: [Item]
  /// The purchase that this one replaces (`linkedPurchaseToken`), by the digest of its token.
  package let replaces: String?
  /// The expired purchase that this one, made outside the app, continues. Absent once acknowledged.
  package let continues: String?
  /// `obfuscatedExternalAccountId`: the account that our client set at the purchase.
  package let account: Identifier?
  package let isAcknowledged: Bool
  /// Whether a licence tester made it. It never counts as production.
  package let isTest: Bool
  /// Whether it was cancelled because another purchase replaced it.
  package let isCanceledByReplacement: Bool
  /// When access ended; nil if the read shows that it has access, or if the time is unknown.
  package let ended: Instant?
  /// When the store will end the pause of a paused purchase by itself.
  package let resumes: Instant?
  /// When its buyer cancelled it; nil if no one did, or someone else.
  package let canceled: Instant?

  package init(
    state: State, startTime: Instant?, items: [Item], replaces: String? = nil,
    continues: String? = nil, account: Identifier? = nil, isAcknowledged: Bool = true,
    isTest: Bool = false, isCanceledByReplacement: Bool = false, ended: Instant? = nil,
    resumes: Instant? = nil, canceled: Instant? = nil
  ) {
    self.state = state
    self.startTime = startTime
    self.items = items
    self.replaces = replaces
    self.continues = continues
    self.account = account
    self.isAcknowledged = isAcknowledged
    self.isTest = isTest
    self.isCanceledByReplacement = isCanceledByReplacement
    self.ended = ended
    self.resumes = resumes
    self.canceled = canceled
  }

  /// `subscriptionState`, without its prefix `SUBSCRIPTION_STATE_`.
  package enum State: Hashable, Sendable {
    case pending, active, paused, inGracePeriod, onHold, canceled, expired, pendingPurchaseCanceled
    /// Unspecified, or a value that this decoder does not know: gives no access, raises an alarm.
    case other(String)

    package var text: String {
      switch self {
      case .pending: "PENDING"
      case .active: "ACTIVE"
      case .paused: "PAUSED"
      case .inGracePeriod: "IN_GRACE_PERIOD"
      case .onHold: "ON_HOLD"
      case .canceled: "CANCELED"
      case .expired: "EXPIRED"
      case .pendingPurchaseCanceled: "PENDING_PURCHASE_CANCELED"
      case .other(let text): text
      }
    }

    package init(_ text: String) { self = Self.known[text] ?? .other(text) }

    private static let known: [String: State] = Dictionary(
      uniqueKeysWithValues: [
        .pending, .active, .paused, .inGracePeriod, .onHold, .canceled, .expired,
        .pendingPurchaseCanceled,
      ].map { ($0.text, $0) })
  }

  package struct Item: Hashable, Sendable {
    package let productID: String
    package let basePlanID: String?
    /// Absent while the item is not owned: pending, or a deferred replacement.
    package let expiryTime: Instant?
    package let autoRenews: Bool
    package let isFreeTrial: Bool
    /// The order that paid for it; nil if none did.
    package let latestOrderID: String?
    /// Whether it ends with the renewal. It is owned until then.
    package let isLeaving: Bool
    /// The product that replaces it with the renewal.
    package let nextProductID: String?

    package init(
      productID: String, basePlanID: String? = nil, expiryTime: Instant?, autoRenews: Bool = false,
      isFreeTrial: Bool = false, latestOrderID: String? = nil, isLeaving: Bool = false,
      nextProductID: String? = nil
    ) {
      self.productID = productID
      self.basePlanID = basePlanID
      self.expiryTime = expiryTime
      self.autoRenews = autoRenews
      self.isFreeTrial = isFreeTrial
      self.latestOrderID = latestOrderID
      self.isLeaving = isLeaving
      self.nextProductID = nextProductID
    }
  }

  /// Whether the customer ever got it. A purchase that was never granted replaces nothing.
  package var wasGranted: Bool {
    switch state {
    case .pending, .pendingPurchaseCanceled, .other: false
    case .active, .paused, .inGracePeriod, .onHold, .canceled, .expired: startTime != nil
    }
  }

  /// The item that replaces another one with the renewal. It may be listed next to it, not owned yet.
  var deferred: Item? {
    items.compactMap { $0.nextProductID }.first.map { next in
      items.first { $0.productID == next && $0.expiryTime == nil }
        ?? Item(productID: next, expiryTime: nil)
    }
  }

  /// Whether the customer has it now.
  var isGranted: Bool {
    switch state {
    case .active, .inGracePeriod, .canceled: true
    case .paused, .onHold, .expired, .pending, .pendingPurchaseCanceled, .other: false
    }
  }

  /// Whether it is paid for and not yet acknowledged. A pending purchase must not be acknowledged.
  package var needsAcknowledgement: Bool { isGranted && !isAcknowledged }
}

/// One charge of a purchase: the `Order` of `orders.get`.
package struct GoogleOrder: Mirrored {
  /// The purchase that it pays for, by the digest of its token.
  package let purchase: String
  package let state: State
  /// When it was made. Like `total`, unknown if it was stored before this member was read.
  package let created: Instant?
  /// The amount charged, including taxes.
  package let total: Money?
  /// The product and time that its first line bills.
  package let line: Line?
  /// What was refunded of it.
  package let refunds: [Refund]

  package init(
    purchase: String, state: State, created: Instant? = nil, total: Money? = nil,
    line: Line? = nil, refunds: [Refund] = []
  ) {
    self.purchase = purchase
    self.state = state
    self.created = created
    self.total = total
    self.line = line
    self.refunds = refunds
  }

  /// A product, and the time that was billed, as far as it is given.
  package struct Line: Hashable, Sendable {
    package let productID: String
    package let basePlanID: String?
    package let from: Instant?
    package let to: Instant?

    package init(productID: String, basePlanID: String?, from: Instant?, to: Instant?) {
      self.productID = productID
      self.basePlanID = basePlanID
      self.from = from
      self.to = to
    }
  }

  package struct Refund: Hashable, Sendable {
    package let at: Instant
    /// Including taxes; nil if it cannot be read.
    package let total: Money?

    package init(at: Instant, total: Money?) {
      self.at = at
      self.total = total
    }
  }

  package enum State: String, Sendable, CaseIterable {
    case pending = "PENDING"
    case processed = "PROCESSED"
    case canceled = "CANCELED"
    case pendingRefund = "PENDING_REFUND"
    case partiallyRefunded = "PARTIALLY_REFUNDED"
    case refunded = "REFUNDED"
    /// Unspecified or unknown.
    case other = "OTHER"
  }
}
