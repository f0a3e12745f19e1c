import Base
import Configuration
import JSON
package import Storage
import Subscriptions
import Tiers

/// The rules of the `coffer-billing` that started last, with the catalogue of record. Every program
/// derives under them until they change.
package struct RulesInForce {
  /// Grows with each change.
  let number: Int64
  package let digest: String
  /// The digest of their catalogue.
  package let catalogue: String
  package let content: String
  /// Whether everything was derived again under them.
  package let isApplied: Bool

  /// The rules as a program with the same policy understands them.
  package func rules(as own: LedgerRules) throws -> LedgerRules {
    if digest == own.digest { return own }
    guard let rules = try own.with(content: JSON.parse(Array(content.utf8))) else {
      throw DatabaseError.unavailable(
        reason:
          "a coffer-billing of another version, with another policy, has started on it: stop one of them, "
          + "and start the other again")
    }
    return rules
  }

  /// The rules that a server puts in force again after one with an earlier policy started later:
  /// its own policy, with the rest unchanged. The other program cannot know better, and answers 503
  /// from then on. Nil if there is no such case.
  func retaken(by own: LedgerRules) throws -> LedgerRules? {
    guard digest != own.digest else { return nil }
    let content = try JSON.parse(Array(content.utf8))
    guard own.policy.isLater(than: try content["policy"].requireString()) else { return nil }
    return try own.adopting(content)
  }

  /// Puts the rules of a starting server in force, and stores what their catalogue sells.
  static func take(_ rules: LedgerRules, at now: Instant, in transaction: Transaction) throws {
    try LedgerSequence.lock(in: transaction)
    let before = try RulesInForce(reading: transaction)
    guard before?.digest != rules.digest else { return }
    try SoldPlans.keep(rules.catalogue, after: before?.catalogue, at: now, in: transaction)
    try transaction.execute(
      """
      INSERT INTO billing.rules_in_force (id, number, digest, catalogue, content, applied, since_ms)
      VALUES (1, $1, $2, $3, $4, 0, $5)
      ON CONFLICT (id) DO UPDATE SET number = excluded.number, digest = excluded.digest,
        catalogue = excluded.catalogue, content = excluded.content, applied = 0,
        since_ms = excluded.since_ms
      """, .integer((before?.number ?? 0) + 1), .text(rules.digest),
      .text(rules.catalogue.content.digest),
      .text(String(decoding: rules.content.encoded(), as: UTF8.self)), .instant(now))
  }

  /// Records that everything was derived again after a change, unless another came meanwhile.
  static func noteApplied(_ number: Int64, in transaction: Transaction) throws {
    try transaction.execute(
      "UPDATE billing.rules_in_force SET applied = 1 WHERE id = 1 AND number = $1",
      .integer(number))
  }
}

extension RulesInForce {
  /// Nil if no server has started yet.
  package init?(reading database: some Queryable) throws {
    let row = try database.first(
      """
      SELECT number, digest, catalogue, content, applied FROM billing.rules_in_force WHERE id = 1
      """
    ) { row in
      RulesInForce(
        number: try row.integer(0), digest: try row.text(1), catalogue: try row.text(2),
        content: try row.text(3), isApplied: try row.integer(4) == 1)
    }
    guard let row else { return nil }
    self = row
  }
}

/// The kind of program that derives: what it does if the servers' rules are not its own.
package enum Deriver: Sendable {
  /// Follows the server that started last, so that two servers do not undo each other's work.
  case server
  /// Refuses, because its operator expects other rules than those in force.
  case command
}

/// The rules to derive under, looked up in each transaction and remembered while they stay.
final class CurrentRules: Sendable {
  private let own: LedgerRules
  private let deriver: Deriver
  private let remembered = Locked<(number: Int64, digest: String, rules: LedgerRules)?>(nil)

  init(_ own: LedgerRules, for deriver: Deriver) {
    self.own = own
    self.deriver = deriver
  }

  /// Call it once the sequence is locked. Before any server has started, the rules are this program's own.
  func find(at now: Instant, in transaction: Transaction) throws -> LedgerRules {
    guard var row = try RulesInForce(reading: transaction) else {
      try SoldPlans.keep(own.catalogue, after: nil, at: now, in: transaction)
      return own.keeping(try SoldPlans.all(reading: transaction))
    }
    if let known = remembered.withLock({ $0 }), known.number == row.number,
      known.digest == row.digest
    {
      return known.rules
    }
    if deriver == .server, let retaken = try row.retaken(by: own) {
      try RulesInForce.take(retaken, at: now, in: transaction)
      Log.warning("billing.rules_retaken", ["policy": retaken.policyVersion])
      row = try RulesInForce(reading: transaction) ?? row
    }
    if deriver == .command, row.digest != own.digest { throw try refusal(row) }
    let rules = try row.rules(as: own).keeping(
      try SoldPlans.all(reading: transaction), since: row.number)
    remembered.withLock { $0 = (row.number, row.digest, rules) }
    return rules
  }

  /// Throws unless the servers derive as this program would, or none has started.
  func requireServers(reading database: some Queryable) throws {
    if let row = try RulesInForce(reading: database), row.digest != own.digest {
      throw try refusal(row)
    }
  }

  private func refusal(_ row: RulesInForce) throws -> ConfigurationError {
    let content = try JSON.parse(Array(row.content.utf8))
    let servers = content["catalogue"]["version"].string ?? ""
    let policy = content["policy"].string ?? ""
    let texts = [
      "the rules of this configuration are not those of coffer-billing: nothing was written",
      "here the catalogue is \(own.catalogue.version) and the policy \(own.policyVersion), "
        + "there the catalogue is \(servers) and the policy \(policy)",
      "give this command the servers' \(SharedSettings.plans.name), "
        + "\(BillingSettings.sandboxAccounts.name) and stores' settings, or restart coffer-billing with these",
    ]
    return ConfigurationError(texts.map { ConfigurationError.Problem(.invalid, $0) })
  }
}
