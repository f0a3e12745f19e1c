package import Base
import Crypto
import JSON
package import Storage
import Stores
package import Subscriptions

extension Ledger {
  /// Records a decision and derives what follows from it. Returns its id and sequence.
  @discardableResult
  package func decide(
    _ decision: Decision, at now: Instant, in transaction: Transaction
  ) throws -> (id: Identifier, sequence: Int64) {
    let id = Random.identifier()
    let sequence = try LedgerSequence.take(in: transaction)
    try write(decision, as: id, sequence: sequence, at: now, in: transaction)
    try RefusedClaims.settle(decision, in: transaction)
    try derive(
      try affected(by: decision, reading: transaction), cause: .owner, entry: sequence, at: now,
      in: transaction)
    switch decision {
    case .accountDeleted:
      try PendingClaims.removeAll(of: decision.account, in: transaction)
      try writeSchedule(of: decision.account, at: now, in: transaction)
    case .grant, .ungrant, .quota, .quotaCleared:
      try writeSchedule(of: decision.account, at: now, in: transaction)
    case .claim, .transfer: break
    }
    return (id, sequence)
  }

  /// Writes the decision's row, once.
  package func write(
    _ decision: Decision, as id: Identifier, sequence: Int64, at moment: Instant,
    in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO billing.decisions (id, sequence, kind, account_id, object, decided_ms, content)
      VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING
      """, .id(id), .integer(sequence), .text(decision.kind), .id(decision.account),
      .text(decision.object?.description), .instant(moment),
      .text(String(decoding: decision.content.encoded(), as: UTF8.self)))
  }

  /// Whether its store ever reported anything about a subscription.
  package func knows(_ key: ObjectKey, reading database: some Queryable) throws -> Bool {
    guard try SubscriptionRow(key, reading: database) != nil else { return false }
    // Only its own mirrors count: decisions about it prove nothing.
    return try !stores.store(of: key).traits.readsBySecret
      || !reading(database).mirrors(of: key).isEmpty
  }

  /// Whether an account ever had anything to do with a subscription or a grant.
  package func knows(_ account: Identifier, reading database: some Queryable) throws -> Bool {
    try database.first(
      """
      SELECT 1 FROM billing.decisions WHERE account_id = $1
      UNION ALL SELECT 1 FROM billing.subscriptions WHERE owner = $1
      UNION ALL SELECT 1 FROM billing.transitions
        WHERE cause = 'owner' AND state_before <> 'none' AND state_before = $2 LIMIT 1
      """, .id(account), .text(account.description)
    ) { try $0.integer(0) } != nil
  }

  /// The owner of a subscription; nil if it has none.
  package static func owner(
    of key: ObjectKey, reading database: some Queryable
  ) throws -> Identifier? {
    try SubscriptionRow(key, reading: database)?.owner
  }

  /// The number of subscriptions that an account owns.
  package static func ownedCount(
    by account: Identifier, reading database: some Queryable
  ) throws -> Int64 {
    try database.first(
      "SELECT count(*) FROM billing.subscriptions WHERE owner = $1", .id(account)
    ) { try $0.integer(0) } ?? 0
  }

  package func affected(
    by decision: Decision, reading transaction: Transaction
  ) throws -> [ObjectKey] {
    switch decision {
    case .grant, .ungrant, .quota, .quotaCleared: return []
    case .claim(_, let object), .transfer(_, let object, _):
      return try Affected.subscriptions(from: object, reading(transaction))
    case .accountDeleted(let account):
      let reading = reading(transaction)
      let owned = try reading.subscriptions(ownedBy: account)
      return try Set(owned.flatMap { try Affected.subscriptions(from: $0, reading) }).sorted()
    }
  }
}
