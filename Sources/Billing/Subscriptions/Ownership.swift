package import Base

/// Whose subscription it is, and by what.
package struct Ownership: Hashable, Sendable {
  /// Nil where it is nobody's.
  package let account: Identifier?
  package let evidence: Evidence
  /// Whose it was last, where that account was deleted and nobody's it is.
  package let former: Identifier?

  package enum Evidence: Hashable, Sendable {
    /// Nothing names an owner.
    case none
    /// The provider's tokens disagree: nobody's until it has been read again.
    case contested
    /// Its owner's account was deleted, and nobody claimed it since.
    case deletedAccount
    /// Our own metadata or account id at the provider, in the object named.
    case token(String)
    /// The purchase that this one continues, whose owner it has.
    case predecessor
    case claim(sequence: Int64)
    case transfer(sequence: Int64)
  }

  /// The newest transfer, else the provider's own token, else the purchase that it continues, else
  /// the lowest accepted claim. An account that was deleted owns nothing, and no older claim comes
  /// back for it; a newer one may.
  package init(token: OwnerToken, predecessor: Identifier?, decisions: Decisions) {
    let base = Self.base(token, predecessor, decisions)
    guard let account = base.account else {
      self = base.evidence == .contested ? base : Self.claimed(after: .min, decisions) ?? base
      return
    }
    guard let deleted = decisions.deletion(of: account) else {
      self = base
      return
    }
    self =
      Self.claimed(after: deleted, decisions)
      ?? Ownership(formerlyOf: account)
  }

  private init(account: Identifier?, evidence: Evidence) {
    self.account = account
    self.evidence = evidence
    former = nil
  }

  private init(formerlyOf account: Identifier) {
    self.account = nil
    evidence = .deletedAccount
    former = account
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

  /// The first claim after `sequence` whose account still exists, or was the last to be deleted.
  private static func claimed(after sequence: Int64, _ decisions: Decisions) -> Ownership? {
    var sequence = sequence
    var former: Identifier?
    for claim in decisions.claims where claim.sequence > sequence {
      guard let deleted = decisions.deletion(of: claim.account) else {
        return Ownership(account: claim.account, evidence: .claim(sequence: claim.sequence))
      }
      sequence = deleted
      former = claim.account
    }
    return former.map { Ownership(formerlyOf: $0) }
  }
}

/// What the provider itself says about whose a subscription is.
package enum OwnerToken: Hashable, Sendable {
  case none
  case account(Identifier, by: String)
  /// Two that disagree.
  case contested
}

/// What we decided about one subscription: grows only, in the order of the database.
package struct Decisions: Hashable, Sendable {
  /// An account's word that a purchase is its own, accepted at the time.
  package struct Claim: Hashable, Sendable {
    package let sequence: Int64
    package let account: Identifier

    package init(sequence: Int64, account: Identifier) {
      self.sequence = sequence
      self.account = account
    }
  }

  /// An admin's word.
  package struct Transfer: Hashable, Sendable {
    package let sequence: Int64
    package let account: Identifier

    package init(sequence: Int64, account: Identifier) {
      self.sequence = sequence
      self.account = account
    }
  }

  /// Ascending.
  package private(set) var claims: [Claim]
  package private(set) var transfers: [Transfer]
  /// When accounts that could be its owner were deleted.
  private var deletions: [Identifier: Int64]

  package static let none = Decisions()

  /// Takes them in any order and any number of times.
  package init(
    claims: [Claim] = [], transfers: [Transfer] = [], deletions: [Identifier: Int64] = [:]
  ) {
    self.claims = Set(claims).sorted { $0.sequence < $1.sequence }
    self.transfers = Set(transfers).sorted { $0.sequence < $1.sequence }
    self.deletions = deletions
  }

  package func deletion(of account: Identifier) -> Int64? { deletions[account] }

  package mutating func merge(_ other: Decisions) {
    self = Decisions(
      claims: claims + other.claims, transfers: transfers + other.transfers,
      deletions: deletions.merging(other.deletions, uniquingKeysWith: min))
  }
}
