package import Base
package import Storage
internal import Subscriptions

/// How what is stored follows a server's rules when it starts.
extension Ledger {
  /// Puts these rules in force: from now on every server derives under them.
  package func takeForce(at now: Instant, in transaction: Transaction) throws {
    try RulesInForce.take(rules, at: now, in: transaction)
  }

  /// Whether anything may be stored that was derived under other rules.
  package func isOutdated(reading database: some Queryable) throws -> Bool {
    try RulesInForce(reading: database)?.isApplied == false
  }

  /// Derives subscriptions again that were derived under other rules; returns how many it found.
  package func deriveOutdated(
    countMax: Int, at now: Instant, in transaction: Transaction, each: (Derivation) -> Void
  ) throws -> Int {
    try DeliveryRow.lockSequence(in: transaction)
    guard let inForce = try RulesInForce(reading: transaction) else { return 0 }
    let keys = try transaction.rows(
      "SELECT object FROM billing.subscriptions WHERE rules <> $1 ORDER BY object LIMIT $2",
      .text(inForce.digest), .integer(countMax)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
    try derive(keys, cause: .policy, entry: nil, at: now, in: transaction, each: each)
    return keys.count
  }

  /// Writes the schedules again of accounts that own no subscription: what was given to them and
  /// what everybody has follow the catalogue as well. Returns the last of them, nil at the end.
  package func scheduleOthers(
    after last: Identifier?, countMax: Int, at now: Instant, in transaction: Transaction
  ) throws -> Identifier? {
    try DeliveryRow.lockSequence(in: transaction)
    let accounts = try transaction.rows(
      """
      SELECT DISTINCT account_id FROM billing.entitlements WHERE account_id > $1
        AND NOT EXISTS (SELECT 1 FROM billing.subscriptions s
          WHERE s.owner = entitlements.account_id)
      ORDER BY account_id LIMIT $2
      """, last.map { .id($0) } ?? .blob([]), .integer(countMax)
    ) { row in try row.id(0) }
    for account in accounts { try schedule(account, at: now, in: transaction) }
    return accounts.count < countMax ? nil : accounts.last
  }

  package func noteApplied(in transaction: Transaction) throws {
    try RulesInForce.noteApplied(rules, in: transaction)
  }
}
