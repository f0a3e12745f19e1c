package import Base

/// The owner of a subscription, and the evidence.
package struct Ownership: Hashable, Sendable {
  /// Nil if the subscription has no owner.
  package let account: Identifier?
  package let evidence: Evidence
  /// The last owner, if that account was deleted and there is no owner now.
  package let former: Identifier?

  package enum Evidence: Hashable, Sendable {
    /// Nothing names an owner.
    case none
    /// The provider's tokens disagree: no owner until it has been read again.
    case contested
    /// The owner's account was deleted, and no account has claimed it since.
    case deletedAccount
    /// Our own metadata or account id at the provider, in the named object.
    case token(String)
    /// The purchase that this one continues, which has the same owner.
    case predecessor
    case claim(sequence: Int64)
    case transfer(sequence: Int64)
  }

  /// The owner by the newest transfer; otherwise by the provider's own token, then the purchase
  /// that this one continues, then the lowest accepted claim. A deleted account owns nothing. No
  /// older claim comes back in its place, but a newer one may.
  package init(token: OwnerToken, predecessor: Identifier?, decisions: Decisions) {
    let base = Self.base(token, predecessor, decisions)
    guard let account = base.account else {
      self = base.evidence == .contested ? base : Self.claimed(after: .min, decisions) ?? base
      return
    }
    guard let deleted = decisions.deletions[account] else {
      self = base
      return
    }
    self = Self.claimed(after: deleted, decisions) ?? Ownership(formerlyOf: account)
  }

  private init(account: Identifier?, evidence: Evidence, former: Identifier? = nil) {
    self.account = account
    self.evidence = evidence
    self.former = former
  }

  private init(formerlyOf account: Identifier) {
    self.init(account: nil, evidence: .deletedAccount, former: account)
  }

  private static func base(
    _ token: OwnerToken, _ predecessor: Identifier?, _ decisions: Decisions
  ) -> Ownership {
    if let transfer = decisions.transfers.last {
      return Ownership(
        account: transfer.account, evidence: .transfer(sequence: transfer.sequence))
    }
    switch token {
    case .account(let account, let object):
      return Ownership(account: account, evidence: .token(object))
    case .contested: return Ownership(account: nil, evidence: .contested)
    case .none:
      return Ownership(
        account: predecessor, evidence: predecessor == nil ? .none : .predecessor)
    }
  }

  /// The owner by the first claim after `sequence` whose account still exists; otherwise the last
  /// claimant, whose account was deleted, as the former owner.
  private static func claimed(after sequence: Int64, _ decisions: Decisions) -> Ownership? {
    var sequence = sequence
    var former: Identifier?
    for claim in decisions.claims where claim.sequence > sequence {
      guard let deleted = decisions.deletions[claim.account] else {
        return Ownership(account: claim.account, evidence: .claim(sequence: claim.sequence))
      }
      sequence = deleted
      former = claim.account
    }
    return former.map { Ownership(formerlyOf: $0) }
  }
}

/// The owner of a subscription as the provider itself names it.
package enum OwnerToken: Hashable, Sendable {
  case none
  case account(Identifier, by: String)
  /// Two tokens that disagree.
  case contested
}

/// The decisions about one subscription.
package struct Decisions: Equatable, Sendable {
  /// A decision that the account is the owner, and its position in the database's order.
  package struct Assignment: Equatable, Sendable {
    package let sequence: Int64
    package let account: Identifier

    package init(sequence: Int64, account: Identifier) {
      self.sequence = sequence
      self.account = account
    }
  }

  /// The accounts' accepted statements that the purchase is their own, ascending.
  let claims: [Assignment]
  /// Operators' decisions, ascending.
  let transfers: [Assignment]
  /// When accounts that could be the owner were deleted.
  let deletions: [Identifier: Int64]

  /// Accepts claims and transfers in any order.
  package init(
    claims: [Assignment] = [], transfers: [Assignment] = [], deletions: [Identifier: Int64] = [:]
  ) {
    self.claims = claims.sorted { $0.sequence < $1.sequence }
    self.transfers = transfers.sorted { $0.sequence < $1.sequence }
    self.deletions = deletions
  }
}
