/// Why an account's cap is what it is: shown to the user beside a refusal and to an admin.
package enum CapReason: String, Hashable, Sendable, CaseIterable {
  /// Nothing was ever owed.
  case neverSubscribed = "never_subscribed"
  /// A paid period.
  case subscribed
  /// A paid period whose payment the customer's bank disputes; kept until that is decided.
  case contested
  case trial
  /// A payment is failing and access is kept for a while.
  case grace
  /// The renewal has merely not been seen yet.
  case leeway
  /// The same, and the store has not answered since: time alone takes nothing while it cannot be
  /// asked.
  case storeUnreachable = "store_unreachable"
  /// Kept by policy though no money came: a voided invoice, a paused collection.
  case courtesy
  /// Given by an admin.
  case granted
  /// Set by an admin, in place of whatever else is owed.
  case quotaSet = "quota_set"
  /// Ended because a payment failed: a new card brings it back.
  case paymentFailed = "payment_failed"
  /// Ended by the customer, or by time.
  case lapsed
  /// Given by an admin and taken back.
  case grantRevoked = "grant_revoked"
  case refunded
  /// Taken away while the customer's bank disputes the payment; a won dispute brings it back.
  case disputed

  /// Whether a paid plan is owed.
  package var givesAccess: Bool {
    switch self {
    case .subscribed, .contested, .trial, .grace, .leeway, .storeUnreachable, .courtesy, .granted:
      true
    case .neverSubscribed, .quotaSet, .paymentFailed, .lapsed, .grantRevoked, .refunded, .disputed:
      false
    }
  }

  /// Whether the plan follows from a fact: a payment, a trial, a grant. The others are patience, which
  /// depends on what had arrived by then, so having had them is no reason to say that a plan lapsed.
  package var isFounded: Bool {
    switch self {
    case .subscribed, .contested, .trial, .granted: true
    case .neverSubscribed, .grace, .leeway, .storeUnreachable, .courtesy, .quotaSet, .paymentFailed,
      .lapsed, .grantRevoked, .refunded, .disputed:
      false
    }
  }

  /// Whether a plan was had and is not any more.
  package var isEnd: Bool {
    switch self {
    case .paymentFailed, .lapsed, .grantRevoked, .refunded, .disputed: true
    case .neverSubscribed, .subscribed, .contested, .trial, .grace, .leeway, .storeUnreachable,
      .courtesy, .granted, .quotaSet:
      false
    }
  }

  /// Which of two reasons for the same cap is told: the lower.
  package var precedence: Int {
    switch self {
    case .subscribed: 0
    case .contested: 1
    case .granted: 2
    case .trial: 3
    case .courtesy: 4
    case .grace: 5
    case .leeway: 6
    case .storeUnreachable: 7
    case .paymentFailed: 8
    case .refunded: 9
    case .disputed: 10
    case .lapsed: 11
    case .grantRevoked: 12
    case .neverSubscribed: 13
    case .quotaSet: 14
    }
  }
}
