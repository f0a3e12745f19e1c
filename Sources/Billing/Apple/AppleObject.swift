package import Base
package import Subscriptions

/// An object of the App Store, reduced to what coverage needs.
package enum AppleObject: StoreObject {
  /// By its `transactionId`.
  case transaction(AppleTransaction)
  /// By the `originalTransactionId`.
  case renewal(AppleRenewal)
  /// By the `originalTransactionId`.
  case status(AppleStatus)

  package var kind: ObjectKey.Kind {
    switch self {
    case .transaction: .transaction
    case .renewal: .renewal
    case .status: .status
    }
  }
}

/// One period of an auto-renewable subscription: `JWSTransactionDecodedPayload`.
///
/// Only `signedDate` orders: a refund of it can be reversed and made again. But what is held in a way
/// that this decoder does not know never outdates what it does know.
package struct AppleTransaction: Mirrored {
  /// The subscription it belongs to, through renewals, upgrades and resubscriptions.
  package let originalTransactionID: String
  package let productID: String
  package let purchaseDate: Instant
  /// Does not move in a grace period.
  package let expiresDate: Instant
  package let revocation: Revocation?
  /// Another product of the group replaced it before its end.
  package let isUpgraded: Bool
  package let ownership: Ownership
  package let isFreeTrial: Bool
  /// `appAccountToken`: the account that our client named at the purchase.
  package let account: Identifier?
  /// The subscription's id before the customer's account changed.
  package let previousOriginalTransactionID: String?
  /// Of a plan that is billed by the month and bound for a year; nil for every other.
  package let commitment: Commitment?
  /// Nil of what was stored before it was read, and where the store does not tell.
  package let price: Price?

  package init(
    originalTransactionID: String, productID: String, purchaseDate: Instant, expiresDate: Instant,
    revocation: Revocation? = nil, isUpgraded: Bool = false, ownership: Ownership = .purchased,
    isFreeTrial: Bool = false, account: Identifier? = nil,
    previousOriginalTransactionID: String? = nil, commitment: Commitment? = nil,
    price: Price? = nil
  ) {
    self.originalTransactionID = originalTransactionID
    self.productID = productID
    self.purchaseDate = purchaseDate
    self.expiresDate = expiresDate
    self.revocation = revocation
    self.isUpgraded = isUpgraded
    self.ownership = ownership
    self.isFreeTrial = isFreeTrial
    self.account = account
    self.previousOriginalTransactionID = previousOriginalTransactionID
    self.commitment = commitment
    self.price = price
  }

  /// What its buyer paid for it.
  package struct Price: Hashable, Sendable {
    /// Thousandths of the currency's unit.
    package let milliunits: Int64
    /// ISO 4217.
    package let currency: String

    package init(milliunits: Int64, currency: String) {
      self.milliunits = milliunits
      self.currency = currency
    }
  }

  /// How its holder came by it: `inAppOwnershipType`.
  package enum Ownership: Hashable, Sendable {
    case purchased, familyShared
    /// A seat that an organisation or a group pays for. It counts like a purchase of its holder's.
    case assigned
    /// A value this decoder does not know: grants nothing, takes nothing, raises an alarm.
    case other(String)

    /// The store's word for it.
    package var text: String {
      switch self {
      case .purchased: "PURCHASED"
      case .familyShared: "FAMILY_SHARED"
      case .assigned: "ASSIGNED"
      case .other(let text): text
      }
    }

    package init(_ text: String) {
      let known: [Ownership] = [.purchased, .familyShared, .assigned]
      self = known.first { $0.text == text } ?? .other(text)
    }

    package var isKnown: Bool {
      if case .other = self { return false }
      return true
    }
  }

  /// Twelve months, each a transaction of its own (`billingPlanType` `MONTHLY`).
  package struct Commitment: Hashable, Sendable {
    /// When the last month of it ends; moves where one is paid late.
    package let end: Instant?

    package init(end: Instant?) { self.end = end }
  }

  /// Whether no further month of its commitment follows.
  var endsCommitment: Bool { commitment?.end.map { $0 <= expiresDate } ?? false }

  /// That the store took it back.
  package struct Revocation: Hashable, Sendable {
    package let date: Instant
    package let kind: Kind
    /// How much of the price went back, in thousandths of a percent (100000 is all); nil: untold.
    package let percentageMilliunits: Int64?

    package init(date: Instant, kind: Kind, percentageMilliunits: Int64? = nil) {
      self.date = date
      self.kind = kind
      self.percentageMilliunits = percentageMilliunits
    }

    package enum Kind: String, Sendable, CaseIterable {
      /// `REFUND_FULL`, and what says no kind, as all did before 2025.
      case full
      /// `REFUND_PRORATED`.
      case prorated
      /// `FAMILY_REVOKE`.
      case family
      /// `ASSIGNMENT_REVOKE`: who pays for the seat took it back.
      case assignment
      /// A value this decoder does not know.
      case unknown
    }
  }

  package var rank: Int { ownership.isKnown ? 1 : 0 }
}

/// What the store will do at the end of the current period: `JWSRenewalInfoDecodedPayload`.
package struct AppleRenewal: Mirrored {
  package let productID: String
  /// Another one than `productID` where a change is pending.
  package let nextProductID: String?
  package let willRenew: Bool
  /// Why it ended: 1 the customer, 2 billing, 3 a price increase, 4 the product, 5 other.
  package let expirationIntent: Int64?
  package let isInBillingRetry: Bool
  package let gracePeriodExpiresDate: Instant?
  package let account: Identifier?
  /// Whether a commitment follows the one under way, whose months are billed all the same; nil
  /// where there is none.
  package let commitmentWillRenew: Bool?

  package init(
    productID: String, nextProductID: String? = nil, willRenew: Bool,
    expirationIntent: Int64? = nil, isInBillingRetry: Bool = false,
    gracePeriodExpiresDate: Instant? = nil, account: Identifier? = nil,
    commitmentWillRenew: Bool? = nil
  ) {
    self.productID = productID
    self.nextProductID = nextProductID
    self.willRenew = willRenew
    self.expirationIntent = expirationIntent
    self.isInBillingRetry = isInBillingRetry
    self.gracePeriodExpiresDate = gracePeriodExpiresDate
    self.account = account
    self.commitmentWillRenew = commitmentWillRenew
  }

  /// Whether the last month of a commitment is that one, and no other follows.
  func isOver(with transaction: AppleTransaction) -> Bool {
    commitmentWillRenew == false && transaction.endsCommitment
  }

  package var rank: Int { 0 }
}

/// `data.status` of a notification, or the `status` of a subscription in an answer.
package struct AppleStatus: Mirrored {
  package let state: State

  package init(_ state: State) { self.state = state }

  package enum State: Hashable, Sendable {
    case active, expired, billingRetry, gracePeriod, revoked
    /// A value this decoder does not know: says nothing about access, raises an alarm.
    case other(Int64)

    package init(_ number: Int64) {
      switch number {
      case 1: self = .active
      case 2: self = .expired
      case 3: self = .billingRetry
      case 4: self = .gracePeriod
      case 5: self = .revoked
      default: self = .other(number)
      }
    }

    package var number: Int64 {
      switch self {
      case .active: 1
      case .expired: 2
      case .billingRetry: 3
      case .gracePeriod: 4
      case .revoked: 5
      case .other(let number): number
      }
    }
  }

  package var rank: Int { 0 }
}

extension AppleObject {
  package func links(from key: ObjectKey) -> [Link] {
    switch self {
    case .transaction(let content):
      let subscription = key.sibling(.subscription, content.originalTransactionID)
      let previous = content.previousOriginalTransactionID.map { key.sibling(.subscription, $0) }
      return [Link(key, .part, of: subscription)]
        + (previous.map { Link.succession(of: $0, by: subscription) } ?? [])
    case .renewal, .status: return [Link(key, .part, of: key.sibling(.subscription, key.id))]
    }
  }
}

extension AppleObject {
  package var rank: Int {
    switch self {
    case .transaction(let content): content.rank
    case .renewal(let content): content.rank
    case .status(let content): content.rank
    }
  }
}
