package import Base
package import Storage
internal import Stores
package import Subscriptions

/// Claims of purchases that no read has proven yet: they own nothing, and a few are kept for each
/// account.
///
/// Anybody can make up a purchase's token, so the first word of its store decides: a purchase that
/// was read is the first claimant's, one that the store does not know is forgotten.
package enum PendingClaims {
  /// How many unread claims an account may have: nobody buys more at once.
  package static let countMax = 5
  /// How long it is kept that a store did not know a purchase, for a client that asks.
  static let unknownSpan = Instant.Span.minutes(10)
  /// How many outdated rows go with one that comes.
  private static let sweepCountMax: Int64 = 20

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

  /// How many claims of the account wait for their read, or were lately found to be of nothing.
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

  /// The accounts that claim a purchase, the first first; their rows go.
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

  /// The store does not know the purchase: whoever claims it is told so the next time.
  package static func settleUnknown(
    _ key: ObjectKey, at now: Instant, in transaction: Transaction
  ) throws {
    try transaction.execute(
      "UPDATE billing.claims SET unknown_ms = $2 WHERE object = $1", .text(key.description),
      .instant(now))
    let outdated = try transaction.rows(
      """
      SELECT object, account_id FROM billing.claims WHERE unknown_ms <= $1
      ORDER BY unknown_ms LIMIT $2
      """, .instant(now - unknownSpan), .integer(sweepCountMax)
    ) { row in (try row.text(0), try row.id(1)) }
    for (object, account) in outdated {
      try transaction.execute(
        "DELETE FROM billing.claims WHERE object = $1 AND account_id = $2", .text(object),
        .id(account))
    }
  }
}

extension Ledger {
  /// Whose a purchase is once what a claim carries is joined; nothing is written.
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

  /// A purchase was read: it is the first claimant's, unless it is somebody's already.
  package func acceptClaims(_ key: ObjectKey, at now: Instant, in transaction: Transaction) throws {
    let accounts = try PendingClaims.take(key, in: transaction)
    guard !accounts.isEmpty, let read = try subscription(readAs: key, in: transaction) else {
      return
    }
    // One that is being deleted since claims nothing more.
    for account in accounts where try !LeavingAccount.isLeaving(account, reading: transaction) {
      let ownership = try reading(transaction).subscription(read).ownership
      guard ownership.account == nil, ownership.evidence != .contested else { return }
      try decide(.claim(account, read), at: now, in: transaction)
    }
  }

  /// What a read by that key found: a payment's number, taken for its subscription's, opens that too.
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
