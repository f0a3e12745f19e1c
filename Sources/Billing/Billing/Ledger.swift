package import Base
package import Storage
internal import Stripe
internal import Subscriptions
internal import Tiers

/// Records sources and derives everything else from them, inside a storage transaction.
///
/// Any order and any repetition of the same sources leaves the same derived rows.
package struct Ledger: Sendable {
  package let rules: LedgerRules

  package init(rules: LedgerRules) { self.rules = rules }

  /// Keeps one delivery and merges what it says. Re-runnable: no effect but through the transaction.
  package func record(
    _ source: PreparedSource, in transaction: Transaction
  ) throws -> Recorded {
    let row = try SourceRow(inserting: source, in: transaction)
    var recorded = Recorded(source: source, row: row)
    for reason in source.hintReasons {
      try transaction.execute(
        """
        INSERT INTO billing.hints (object, source_id, reason) VALUES ($1, $2, $3)
        ON CONFLICT (object, source_id, reason) DO NOTHING
        """, .text(source.fact?.key.description ?? source.deliveryID), .integer(row.id),
        .text(reason))
    }
    if source.disposition == .joined, let fact = source.fact {
      try merge(fact, source, id: row.id, in: transaction, &recorded)
    }
    return recorded
  }

  /// Derives subscriptions again that were derived under other rules; returns how many it found.
  package func deriveOutdated(
    countMax: Int, at now: Instant, in transaction: Transaction
  ) throws -> Int {
    let keys = try transaction.rows(
      """
      SELECT object FROM billing.subscriptions
      WHERE policy_version <> $1 OR catalogue_version <> $2 ORDER BY object LIMIT $3
      """, .text(rules.policyVersion), .text(rules.catalogue.version), .integer(countMax)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
    for key in keys {
      var derivation = try Derivation(key, rules: rules, at: now, reading: transaction)
      try derivation.finish(cause: .policy, source: nil, in: transaction)
      try schedule(derivation.accounts, in: transaction)
    }
    return keys.count
  }

  private func merge(
    _ fact: Fact, _ source: PreparedSource, id: Int64, in transaction: Transaction,
    _ recorded: inout Recorded
  ) throws {
    try link(fact, source: id, in: transaction)
    var change: MirrorChange?
    var accounts: Set<Identifier> = []
    for key in try subscriptions(of: fact, reading: transaction) {
      var derivation = try Derivation(
        key, joinedBy: fact, rules: rules, at: source.received, reading: transaction)
      change = derivation.join(fact, source: id)
      try derivation.finish(cause: .fact, source: id, in: transaction)
      if key.partition == rules.grantingPartition { accounts.formUnion(derivation.accounts) }
      recorded.add(derivation, key)
    }
    if change == nil {
      var closure = try StripeClosure(only: fact.key, reading: transaction)
      change = fact.stripe.map {
        closure.insert($0, id: fact.key.id, asOf: fact.asOf, source: id)
      }
    }
    try change?.write(fact, content: source.content, source: id, in: transaction)
    recorded.rankFell = change?.rankFell ?? false
    try schedule(accounts, in: transaction)
  }

  private func link(_ fact: Fact, source: Int64, in transaction: Transaction) throws {
    for target in fact.targets {
      try transaction.execute(
        """
        INSERT INTO billing.links (origin, target, source_id) VALUES ($1, $2, $3)
        ON CONFLICT (target, origin) DO NOTHING
        """, .text(fact.key.description), .text(target.description), .integer(source))
    }
  }

  /// The subscriptions whose coverage the fact can change, in ascending order.
  private func subscriptions(
    of fact: Fact, reading transaction: Transaction
  ) throws -> [ObjectKey] {
    switch fact.key.kind {
    case .subscription: return [fact.key]
    case .invoice, .checkoutSession: return fact.targets.sorted()
    default:
      return try transaction.rows(
        "SELECT origin FROM billing.links WHERE target = $1 ORDER BY origin",
        .text(fact.key.description)
      ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
    }
  }

  /// Writes the schedules of accounts whose subscriptions changed.
  private func schedule(
    _ accounts: Set<Identifier>, in transaction: Transaction
  ) throws {
    for account in accounts.sorted() {
      let coverages = try transaction.rows(
        "SELECT coverage FROM billing.subscriptions WHERE owner = $1 AND realm = $2",
        .id(account), .text(rules.grantingPartition.rawValue)
      ) { row in try Coverage(text: row.text(0)) }
      try EntitlementRows.write(
        Schedule(coverages, catalogue: rules.catalogue), of: account, in: transaction)
    }
  }
}

extension PreparedSource {
  fileprivate var hintReasons: [String] {
    var reasons: [String] = []
    if disposition == .premature { reasons.append("premature") }
    if notes.contains(.listCutShort) { reasons.append(StripeEvent.Note.listCutShort.rawValue) }
    return reasons
  }
}
