package import Base
import Jobs
package import Storage
package import Stores
package import Subscriptions

/// The state of an account's claim to a purchase that a trusted person says is the account's.
package enum ClaimState: Sendable, Equatable {
  /// The purchase is the account's.
  case owned
  /// It is another account's.
  case ownedByAnother
  /// Its store names two owners.
  case contested
  /// Its store reported it, and it has no owner.
  case free
  /// It will be read for the account; the store's last error.
  case awaited(lastError: String?)
  /// Its store refused so often that it is not read any more.
  case givenUp(lastError: String?)
  /// It was read for the account, and its store does not know it.
  case unknown
  /// Nothing is known of it, and no read of it is requested.
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

  /// The subscriptions that a store's number names: those that its object is known to belong to.
  /// Otherwise, the one to read to find out.
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

  /// The result of filing a claim for an account.
  package enum Filed: Sendable {
    case claimed
    /// It becomes the account's once it is read, unless it proves to be another's.
    case asked
    /// Its store is never asked, because a key is missing.
    case withoutKey
  }

  /// Claims a purchase for an account on an operator's statement. If its store has reported it,
  /// this takes effect at once. Otherwise, it takes effect once the purchase is read, after those
  /// that clients claim. The caller has checked its `claimState`.
  ///
  /// `payload` is the sealed secret for the read.
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
