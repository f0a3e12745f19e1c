package import Base
package import Storage
package import Subscriptions
package import Tiers

/// The state that was derived for a subscription the last time something changed.
package struct SubscriptionRow {
  package var owner: Identifier?
  /// The object that names the owner, or `claim:<n>`, `transfer:<n>`, `predecessor`,
  /// `contested`, `deleted_account`, `none`.
  package var ownerEvidence: String
  /// The environment in which it counts: `live` or `sandbox`.
  package var environment: StoreEnvironment
  var label: Label
  /// The label whenever the coverage owes nothing.
  package var labelWithoutAccess: Label
  package var willRenew: Bool
  package var isDirty: Bool
  /// The coverage in its text form.
  package var coverage: String
  var policyVersion: String
  var catalogueVersion: String
  /// The digest of all rules.
  package var rules: String
  /// The number of the change that put them in force.
  package var rulesChange: Int64
  package var transitionCount: Int64
  /// What needs attention about it, in the form of `AttentionRows.text`.
  var attention: String
  /// When something last changed. It is not compared when two rows are.
  package let updated: Instant

  /// The columns that `init(_:)` reads, in its order.
  package static let columns = """
    owner, owner_evidence, environment, label, label_without_access, will_renew, dirty, coverage,
    policy_version, catalogue_version, transition_count, rules, updated_ms,
    attention, rules_change
    """
  package static let columnCount = 15

  package init?(_ key: ObjectKey, reading database: some Queryable) throws {
    let row = try database.first(
      "SELECT \(Self.columns) FROM billing.subscriptions WHERE object = $1", .text(key.description)
    ) { row in try SubscriptionRow(row) }
    guard let row else { return nil }
    self = row
  }

  /// The state that follows from the facts and rules at `now`.
  package init(
    _ subscription: Subscription, _ coverage: Coverage, _ attention: AttentionRows,
    rules: LedgerRules, at now: Instant, transitionCount: Int64
  ) {
    let ownership = subscription.ownership
    owner = ownership.account
    ownerEvidence = ownership.evidence.text
    environment = subscription.environment
    labelWithoutAccess = subscription.labelWithoutAccess(coverage)
    label = Label(coverage, withoutAccess: labelWithoutAccess, at: now)
    willRenew = subscription.willRenew
    isDirty = subscription.isDirty
    self.coverage = coverage.text
    policyVersion = rules.policyVersion
    catalogueVersion = rules.catalogue.version
    self.rules = rules.digest
    rulesChange = rules.change
    updated = now
    self.transitionCount = transitionCount
    self.attention = attention.text
  }

  package init(_ row: borrowing Row) throws {
    owner = try row.optionalID(0)
    ownerEvidence = try row.text(1)
    environment = try row.word(2)
    label = try row.word(3)
    labelWithoutAccess = try row.word(4)
    willRenew = try row.integer(5) == 1
    isDirty = try row.integer(6) == 1
    coverage = try row.text(7)
    policyVersion = try row.text(8)
    catalogueVersion = try row.text(9)
    transitionCount = try row.integer(10)
    rules = try row.text(11)
    updated = try row.instant(12)
    attention = try row.text(13)
    rulesChange = try row.integer(14)
  }

  /// The changes of the label by time alone since the row was written. `coverage` is the row's.
  package func changesByClock(
    _ coverage: Coverage, upTo now: Instant
  ) -> [(at: Instant, before: Label, after: Label)] {
    var before = label
    var changes: [(at: Instant, before: Label, after: Label)] = []
    for moment in coverage.boundaries(after: updated, upTo: now) {
      let after = Label(coverage, withoutAccess: labelWithoutAccess, at: moment)
      if after != before { changes.append((moment, before, after)) }
      before = after
    }
    return changes
  }

  /// Whether nothing but time changed between the two.
  package func says(theSameAs other: SubscriptionRow) -> Bool {
    owesTheSame(as: other) && ownerEvidence == other.ownerEvidence && label == other.label
      && labelWithoutAccess == other.labelWithoutAccess && willRenew == other.willRenew
      && isDirty == other.isDirty && transitionCount == other.transitionCount
      && attention == other.attention
  }

  /// Whether every schedule that follows from the two is the same.
  package func owesTheSame(as other: SubscriptionRow) -> Bool {
    owner == other.owner && environment == other.environment && coverage == other.coverage
      && rules == other.rules && rulesChange == other.rulesChange
  }

  package func write(_ key: ObjectKey, in transaction: Transaction) throws {
    try transaction.execute(
      """
      INSERT INTO billing.subscriptions (object, environment, owner, owner_evidence, label,
        label_without_access, will_renew, dirty, coverage, policy_version, catalogue_version,
        transition_count, rules, updated_ms, attention, rules_change)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
      ON CONFLICT (object) DO UPDATE SET environment = excluded.environment, owner = excluded.owner,
        owner_evidence = excluded.owner_evidence, label = excluded.label,
        label_without_access = excluded.label_without_access,
        will_renew = excluded.will_renew, dirty = excluded.dirty, coverage = excluded.coverage,
        policy_version = excluded.policy_version, catalogue_version = excluded.catalogue_version,
        transition_count = excluded.transition_count, rules = excluded.rules,
        updated_ms = excluded.updated_ms, attention = excluded.attention,
        rules_change = excluded.rules_change
      """, .text(key.description), .text(environment.rawValue), .id(owner), .text(ownerEvidence),
      .text(label.rawValue), .text(labelWithoutAccess.rawValue), .integer(willRenew ? 1 : 0),
      .integer(isDirty ? 1 : 0), .text(coverage), .text(policyVersion), .text(catalogueVersion),
      .integer(transitionCount), .text(rules), .instant(updated), .text(attention),
      .integer(rulesChange))
  }
}

extension Ownership.Evidence {
  fileprivate var text: String {
    switch self {
    case .none: "none"
    case .contested: "contested"
    case .deletedAccount: "deleted_account"
    case .token(let object): object
    case .predecessor: "predecessor"
    case .claim(let sequence): "claim:\(sequence)"
    case .transfer(let sequence): "transfer:\(sequence)"
    }
  }
}
