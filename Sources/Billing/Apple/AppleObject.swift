package import Base
package import Subscriptions

/// An object of the App Store, reduced to what coverage needs.
package enum AppleObject: StoreObject {
  /// Identified by its `transactionId`.
  case transaction(AppleTransaction)
  /// Identified by the `originalTransactionId`.
  case renewal(AppleRenewal)
  /// Identified by the `originalTransactionId`.
  case status(AppleStatus)
}

/// One period of an auto-renewable subscription: `JWSTransactionDecodedPayload`.
///
/// Only `signedDate` orders its values, because a refund can be reversed and made again. But a
/// value whose ownership this decoder does not know never outdates one that it knows.
package struct AppleTransaction: Mirrored {
  /// The subscription it belongs to, through renewals, upgrades and resubscriptions.
  package let originalTransactionID: String
  package let productID: String
  package let purchaseDate: Instant
  /// Does not change in a grace period.
  package let expiresDate: Instant
  package let revocation: Revocation?
  /// Whether another product of the group replaced it before its end.
  package let isUpgraded: Bool
  package let ownership: Ownership
  package let isFreeTrial: Bool
  /// `appAccountToken`: the account that our client set at the purchase.
  package let account: Identifier?
  /// The subscription's id before the customer's account changed.
  package let previousOriginalTransactionID: String?
  /// Set for a plan that is billed by the month with a commitment for a year; nil for every other.
  package let commitment: Commitment?
  /// Nil if it was stored before this member was read, or if the store does not give it.
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

  /// The price that its buyer paid.
  package struct Price: Hashable, Sendable {
    /// In thousandths of the currency's unit.
    package let milliunits: Int64
    /// ISO 4217.
    package let currency: String

    package init(milliunits: Int64, currency: String) {
      self.milliunits = milliunits
      self.currency = currency
    }
  }

  /// How its holder got it: `inAppOwnershipType`.
  package enum Ownership: Hashable, Sendable {
    case purchased, familyShared
    /// A seat that an organisation or a group pays for. It counts like the holder's own purchase.
    case assigned
    /// A value that this decoder does not know: grants nothing, takes nothing, raises an alarm.
    case other(String)

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

  /// Twelve months, each with its own transaction (`billingPlanType` `MONTHLY`).
  package struct Commitment: Hashable, Sendable {
    /// When the last month ends. It moves if a month is paid late.
    package let end: Instant?

    package init(end: Instant?) { self.end = end }
  }

  /// Whether no further month of its commitment follows.
  var endsCommitment: Bool { commitment?.end.map { $0 <= expiresDate } ?? false }

  /// The store's revocation of a transaction.
  package struct Revocation: Hashable, Sendable {
    package let date: Instant
    package let kind: Kind
    /// The refunded part of the price, in thousandths of a percent (100000 is all); nil if not given.
    package let percentageMilliunits: Int64?

    package init(date: Instant, kind: Kind, percentageMilliunits: Int64? = nil) {
      self.date = date
      self.kind = kind
      self.percentageMilliunits = percentageMilliunits
    }

    package enum Kind: String, Sendable, CaseIterable {
      /// `REFUND_FULL`, or no kind given, as before 2025.
      case full
      /// `REFUND_PRORATED`.
      case prorated
      /// `FAMILY_REVOKE`.
      case family
      /// `ASSIGNMENT_REVOKE`: the payer of the seat took it back.
      case assignment
      /// A value that this decoder does not know.
      case unknown
    }
  }

  package var rank: Int { ownership.isKnown ? 1 : 0 }
}

/// The store's plan for the end of the current period: `JWSRenewalInfoDecodedPayload`.
package struct AppleRenewal: Mirrored {
  package let productID: String
  /// A product other than `productID` if a change is pending.
  package let nextProductID: String?
  package let willRenew: Bool
  /// Why it ended: 1 the customer, 2 billing, 3 a price increase, 4 the product, 5 other.
  package let expirationIntent: Int64?
  package let isInBillingRetry: Bool
  package let gracePeriodExpiresDate: Instant?
  package let account: Identifier?
  /// Whether another commitment follows the current one; nil if there is none.
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

  /// Whether that transaction is the last month of a commitment, and no other commitment follows.
  func isOver(with transaction: AppleTransaction) -> Bool {
    commitmentWillRenew == false && transaction.endsCommitment
  }
}

/// `data.status` of a notification, or the `status` of a subscription in an answer.
package struct AppleStatus: Mirrored {
  package let state: State

  package init(_ state: State) { self.state = state }

  package enum State: Hashable, Sendable {
    case active, expired, billingRetry, gracePeriod, revoked
    /// A value that this decoder does not know: says nothing about access, raises an alarm.
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

  package var rank: Int {
    switch self {
    case .transaction(let content): content.rank
    case .renewal(let content): content.rank
    case .status(let content): content.rank
    }
  }
}
