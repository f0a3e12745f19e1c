package import Base
package import Storage
import Stores
package import Subscriptions

/// Claims of purchases that no read has proven yet. They own nothing, and a few are kept for each account.
///
/// Anyone can make up a purchase's token, so its store's first answer decides. A purchase that was read is
/// the first claimant's, and one that the store does not know is forgotten.
package enum PendingClaims {
  /// The most unread claims that an account may have: no one buys more at once.
  package static let countMax = 5
  /// How long it is recorded, for a client that asks, that a store did not know a purchase.
  static let unknownSpan = Instant.Span.minutes(10)

  package enum State: Equatable {
    case none
    case waiting
    /// The store did not know the purchase.
    case unknown
  }

  package static func state(
    of key: ObjectKey, for account: Identifier, at now: Instant, reading database: some Queryable
  ) throws -> State {
    let row = try database.first(
      "SELECT unknown_ms FROM billing.claims WHERE object = $1 AND account_id = $2",
      .text(key.description), .id(account)
    ) { row in try row.optionalInstant(0) }
    guard let found = row else { return .none }
    guard let unknown = found else { return .waiting }
    return now < unknown + unknownSpan ? .unknown : .none
  }

  /// The number of the account's claims that wait for their read, or whose purchase was recently
  /// found not to exist.
  package static func count(
    of account: Identifier, at now: Instant, reading database: some Queryable
  ) throws -> Int {
    let count = try database.first(
      """
      SELECT count(*) FROM billing.claims
      WHERE account_id = $1 AND (unknown_ms IS NULL OR unknown_ms > $2)
      """, .id(account), .instant(now - unknownSpan)
    ) { row in try row.integer(0) }
    return Int(count ?? 0)
  }

  package static func add(
    _ key: ObjectKey, for account: Identifier, at now: Instant, in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO billing.claims (object, account_id, claimed_ms) VALUES ($1, $2, $3)
      ON CONFLICT (object, account_id) DO UPDATE SET claimed_ms = excluded.claimed_ms,
        unknown_ms = NULL
      """, .text(key.description), .id(account), .instant(now))
  }

  package static func remove(
    _ key: ObjectKey, of account: Identifier, in transaction: Transaction
  ) throws {
    try transaction.execute(
      "DELETE FROM billing.claims WHERE object = $1 AND account_id = $2",
      .text(key.description), .id(account))
  }

  static func removeAll(of account: Identifier, in transaction: Transaction) throws {
    try transaction.execute("DELETE FROM billing.claims WHERE account_id = $1", .id(account))
  }

  /// Deletes the claims of a purchase and returns their accounts, the first claimant first.
  static func take(_ key: ObjectKey, in transaction: Transaction) throws -> [Identifier] {
    let accounts = try transaction.rows(
      """
      SELECT account_id FROM billing.claims WHERE object = $1 AND unknown_ms IS NULL
      ORDER BY claimed_ms, account_id
      """, .text(key.description)
    ) { row in try row.id(0) }
    try transaction.execute(
      "DELETE FROM billing.claims WHERE object = $1", .text(key.description))
    return accounts
  }

  /// Records that the store does not know the purchase. Its claimants learn this the next time.
  package static func settleUnknown(
    _ key: ObjectKey, at now: Instant, in transaction: Transaction
  ) throws {
    try transaction.execute(
      "UPDATE billing.claims SET unknown_ms = $2 WHERE object = $1", .text(key.description),
      .instant(now))
    try transaction.sweepClaims(in: "claims", by: "unknown_ms", upTo: now - unknownSpan)
  }
}

extension Transaction {
  /// Deletes the oldest outdated rows of claims of either kind, at most 20: fewer are added at once.
  func sweepClaims(in table: String, by column: String, upTo moment: Instant) throws {
    let outdated = try rows(
      """
      SELECT object, account_id FROM billing.\(table) WHERE \(column) <= $1
      ORDER BY \(column) LIMIT 20
      """, .instant(moment)
    ) { row in (try row.text(0), try row.id(1)) }
    for (object, account) in outdated {
      // On PostgreSQL it may have been claimed again meanwhile.
      try execute(
        "DELETE FROM billing.\(table) WHERE object = $1 AND account_id = $2 AND \(column) <= $3",
        .text(object), .id(account), .instant(moment))
    }
  }
}

extension Ledger {
  /// The owner of a purchase once the content of a claim is joined. Writes nothing.
  package func ownership(
    of key: ObjectKey, with delivery: PreparedDelivery, reading database: any Queryable
  ) throws -> Ownership {
    var subscription = try reading(database).subscription(key)
    let decoded = delivery.decoded
    for fact in decoded.disposition == .joined ? decoded.facts : []
    where fact.key == key || fact.links.contains(where: { $0.kind == .part && $0.target == key }) {
      subscription.insert(fact, delivery: .max)
    }
    return subscription.ownership
  }

  /// Gives a purchase that was read to the first claimant, unless it already has an owner.
  package func acceptClaims(_ key: ObjectKey, at now: Instant, in transaction: Transaction) throws {
    let accounts = try PendingClaims.take(key, in: transaction)
    guard !accounts.isEmpty, let read = try subscription(readAs: key, in: transaction) else {
      return
    }
    // An account that has since begun to be deleted claims nothing more.
    for account in accounts where try !LeavingAccount.isLeaving(account, reading: transaction) {
      let ownership = try reading(transaction).subscription(read).ownership
      guard ownership.account == nil, ownership.evidence != .contested else { return }
      try decide(.claim(account, read), at: now, in: transaction)
    }
  }

  /// The subscription that a read by that key found. A payment's number that was taken for its
  /// subscription's finds it as well.
  private func subscription(
    readAs key: ObjectKey, in transaction: Transaction
  ) throws -> ObjectKey? {
    if try knows(key, reading: transaction) { return key }
    let traits = try stores.store(of: key).traits
    for kind in traits.kinds where kind != traits.subscriptionKind {
      let known = try subscriptions(of: key.sibling(kind, key.id), reading: transaction)
      if let found = known.first { return found }
    }
    return nil
  }
}
