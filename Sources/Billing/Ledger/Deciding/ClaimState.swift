package import Base
internal import Jobs
package import Storage
package import Stores
package import Subscriptions

/// What stands between an account and a purchase that somebody trusted says is its.
package enum ClaimState: Sendable, Equatable {
  /// It is the account's.
  case owned
  /// It is another's.
  case ownedByAnother
  /// Its store names two.
  case contested
  /// Its store told of it, and it is nobody's.
  case free
  /// It is to be read for the account; what its store said to that last.
  case awaited(lastError: String?)
  /// Its store refused so often that nobody asks any more.
  case givenUp(lastError: String?)
  /// Its store was asked for the account, and does not know it.
  case unknown
  /// Nothing is known of it, and it is not asked for.
  case unread
}

extension Ledger {
  package func claimState(
    of key: ObjectKey, for account: Identifier, at now: Instant, reading database: any Queryable
  ) throws -> ClaimState {
    let ownership = try reading(database).subscription(key).ownership
    if let owner = ownership.account { return owner == account ? .owned : .ownedByAnother }
    if ownership.evidence == .contested { return .contested }
    if try knows(key, reading: database) { return .free }
    switch try PendingClaims.state(of: key, for: account, at: now, reading: database) {
    case .none: return .unread
    case .unknown: return .unknown
    case .waiting: break
    }
    let job = try Jobs.find(Self.readJob, key.description, reading: database)
    switch job?.state {
    case .waiting, .running: return .awaited(lastError: job?.lastError)
    case .dead: return .givenUp(lastError: job?.lastError)
    case .settled, nil: return .unread
    }
  }

  /// The subscriptions that a number of a store's names: those that its object is known to be of, else
  /// what is to be read to find out.
  package func subscriptions(
    named purchase: NamedPurchase, reading database: any Queryable
  ) throws -> [ObjectKey] {
    let known = try subscriptions(of: purchase.object, reading: database)
    return known.isEmpty ? [purchase.subscription].compactMap { $0 } : known
  }

  /// The subscriptions that an object is known to be a part of, without those that continue them.
  package func wholes(
    of object: ObjectKey, reading database: any Queryable
  ) throws -> [ObjectKey] {
    let kind = try stores.store(of: object).traits.subscriptionKind
    return try reading(database).mirrors(of: object).flatMap { $0.fact.links }
      .filter { $0.kind == .part && $0.origin == object && $0.target.kind == kind }
      .map { $0.target }
  }

  /// What became of the wish that an account own a purchase.
  package enum Filed: Sendable {
    case claimed
    /// It is the account's once it was read, unless it proves to be another's.
    case asked
    /// Its store is never asked, for want of a key.
    case withoutKey
  }

  /// Claims a purchase for an account on an operator's word: at once where its store told of it, else
  /// when it was read, behind what clients claim. The caller looked at its `claimState`.
  ///
  /// `payload` is the sealed secret that it is read by.
  package func file(
    _ key: ObjectKey, payload: [UInt8]?, for account: Identifier, at now: Instant,
    in transaction: Transaction
  ) throws -> Filed {
    if try knows(key, reading: transaction) {
      try PendingClaims.remove(key, of: account, in: transaction)
      try decide(.claim(account, key), at: now, in: transaction)
      return .claimed
    }
    guard isReadable(key) else { return .withoutKey }
    try PendingClaims.add(key, for: account, at: now, in: transaction)
    try requestProof(
      of: key, payload: payload, lane: PendingClaims.countMax + 1, at: now, in: transaction)
    return .asked
  }
}
