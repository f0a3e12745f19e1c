/// The reason for an account's cap, shown to the user with a refusal, and to an operator.
package enum CapReason: String, Hashable, Sendable, CaseIterable {
  /// No plan was ever owed.
  case neverSubscribed = "never_subscribed"
  /// A paid period.
  case subscribed
  /// A paid period whose payment the customer's bank disputes. It is kept until the dispute is decided.
  case contested
  case trial
  /// A payment is failing, and access is kept for a while.
  case grace
  /// A renewal is expected and has not been seen yet.
  case leeway
  /// The same, but the store has not answered since. Time alone takes nothing away while the store cannot be asked.
  case storeUnreachable = "store_unreachable"
  /// Kept by policy although no money came: a voided invoice, a paused collection.
  case courtesy
  case granted
  /// Set by an operator, in place of anything else that is owed.
  case quotaSet = "quota_set"
  /// Ended because a payment failed: a new card brings it back.
  case paymentFailed = "payment_failed"
  /// Ended by the customer, or by time.
  case lapsed
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
  /// depends on what had arrived at that time. So having had them is no reason to say that a plan lapsed.
  package var isFounded: Bool {
    switch self {
    case .subscribed, .contested, .trial, .granted: true
    case .neverSubscribed, .grace, .leeway, .storeUnreachable, .courtesy, .quotaSet, .paymentFailed,
      .lapsed, .grantRevoked, .refunded, .disputed:
      false
    }
  }

  /// Whether the account had a plan and no longer has it.
  package var isEnd: Bool {
    switch self {
    case .paymentFailed, .lapsed, .grantRevoked, .refunded, .disputed: true
    case .neverSubscribed, .subscribed, .contested, .trial, .grace, .leeway, .storeUnreachable,
      .courtesy, .granted, .quotaSet:
      false
    }
  }

  /// The order of reasons for the same cap: the lower one is shown.
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
