import Base

/// One customer's subscription in the store: its transactions and what comes next.
struct AppleSubscription: Sendable {
  /// The original transaction's id.
  let id: String
  /// `appTransactionId`: one customer of this app.
  let customer: String
  /// The subscription that this family member or seat shares.
  let sharedFrom: String?
  /// Whether it is a seat that the other subscription pays for, and not a family's share.
  var isSeat = false
  /// The true owner of the money, or of the family's share; the store knows only the token.
  let owner: Identifier?
  /// `appAccountToken` of the purchase under way.
  var token: Identifier?
  var sales: [AppleSale]
  var phase = Phase.running
  var willRenew = true
  /// Whether another commitment follows the one under way.
  var commitmentRenews = true
  /// The product of the next period, if it is another one.
  var nextProduct: AppleProduct?
  var hasWorkingCard = true
  var priceIncrease: PriceIncrease?
  var isForSale = true
  /// When the present run began; lapses of under 60 days do not end a run.
  var runStart: Instant
  var renewalCount = 0
  /// When the seller gave extra days.
  var extended: [Instant] = []

  enum Phase: Hashable, Sendable {
    case running
    /// Billing failed; access continues until then.
    case grace(until: Instant)
    /// Billing is being retried, without access.
    case retry
    case ended(ExpirationIntent)
    case revoked
  }

  enum ExpirationIntent: Int64, Sendable {
    case customer = 1
    case billing = 2
    case priceIncrease = 3
    case notForSale = 4

    var subtype: String {
      switch self {
      case .customer: "VOLUNTARY"
      case .billing: "BILLING_RETRY"
      case .priceIncrease: "PRICE_INCREASE"
      case .notForSale: "PRODUCT_NOT_FOR_SALE"
      }
    }
  }

  enum PriceIncrease: Int64, Sendable {
    case pending = 0
    case accepted = 1
  }

  var last: AppleSale { sales[sales.count - 1] }
  var product: AppleProduct { last.product }
  /// The product of the next renewal.
  var renewing: AppleProduct { nextProduct ?? product }

  /// `data.status`.
  var status: Int64 {
    switch phase {
    case .running: 1
    case .ended: 2
    case .retry: 3
    case .grace: 4
    case .revoked: 5
    }
  }

  var isOver: Bool {
    switch phase {
    case .running, .grace, .retry: false
    case .ended, .revoked: true
    }
  }

  /// The reason why the subscription would end with its period; nil if it renews.
  func ending(_ terms: AppleTerms) -> ExpirationIntent? {
    if !willRenew { return .customer }
    if !commitmentRenews, last.month.map({ $0 == product.commitment }) ?? false { return .customer }
    if priceIncrease == .pending { return .priceIncrease }
    if !isForSale { return .notForSale }
    let isWornOut =
      terms.environment == .sandbox && renewalCount >= AppleTerms.sandboxRenewalCountMax
    return isWornOut ? .customer : nil
  }

  /// When something next happens by itself. A family member's subscription follows the shared one.
  func due(_ terms: AppleTerms, lead: Instant.Span) -> Instant? {
    guard sharedFrom == nil else { return nil }
    switch phase {
    case .running:
      let renews = hasWorkingCard && ending(terms) == nil
      return renews ? last.expires - terms.lead(lead) : last.expires
    case .grace(let until): return until
    case .retry: return last.expires + terms.retry(product)
    case .ended, .revoked: return nil
    }
  }
}

/// One transaction: a period that was sold, shared or given.
struct AppleSale: Sendable {
  let id: String
  /// `webOrderLineItemId`.
  let lineID: String
  let product: AppleProduct
  let purchased: Instant
  var expires: Instant
  let reason: Reason
  /// `appAccountToken`, as the app set it at this purchase.
  let token: Identifier?
  var isTrial = false
  /// The number of the period within its commitment, from 1, and when the commitment ends.
  var month: Int64?
  var commitmentEnd: Instant?
  var isUpgraded = false
  var revocation: Revocation?
  /// When the transaction last changed: the order of the transaction history.
  var modified: Instant

  enum Reason: String, Sendable {
    case purchase = "PURCHASE"
    case renewal = "RENEWAL"
  }

  struct Revocation: Sendable {
    let date: Instant
    let kind: Kind
    /// In thousandths of a percent.
    let percentage: Int64?
    /// 1: because of an issue with the app; 0: for another reason.
    var reason: Int64 = 0

    enum Kind: String, Sendable {
      case full = "REFUND_FULL"
      case prorated = "REFUND_PRORATED"
      case family = "FAMILY_REVOKE"
      case assignment = "ASSIGNMENT_REVOKE"
    }
  }
}
