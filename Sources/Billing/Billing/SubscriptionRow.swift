internal import Base
internal import Storage
internal import Subscriptions
internal import Tiers

/// What was derived of a subscription the last time something changed.
struct SubscriptionRow: Equatable {
  var owner: Identifier?
  /// `subscription`, `checkout.session:<id>`, `contested` or `none`.
  var ownerEvidence: String
  var label: Label
  var willRenew: Bool
  var isDirty: Bool
  /// The coverage in its text form.
  var coverage: String
  var policyVersion: String
  var catalogueVersion: String
  var transitionCount: Int64

  init?(_ key: ObjectKey, reading database: some Queryable) throws {
    let row = try database.first(
      """
      SELECT owner, owner_evidence, label, will_renew, dirty, coverage, policy_version,
        catalogue_version, transition_count
      FROM billing.subscriptions WHERE object = $1
      """, .text(key.description)
    ) { row in try SubscriptionRow(row) }
    guard let row else { return nil }
    self = row
  }

  /// What closure, coverage and rules say at `now`.
  init(
    _ closure: StripeClosure, _ coverage: Coverage, rules: LedgerRules, at now: Instant,
    transitionCount: Int64
  ) {
    owner = closure.ownership.account
    ownerEvidence = closure.ownership.text
    label = closure.label(coverage, at: now)
    willRenew = closure.willRenew
    isDirty = closure.isDirty
    self.coverage = coverage.text
    policyVersion = rules.policyVersion
    catalogueVersion = rules.catalogue.version
    self.transitionCount = transitionCount
  }

  private init(_ row: borrowing Row) throws {
    owner = try row.optionalID(0)
    ownerEvidence = try row.text(1)
    guard let label = Label(rawValue: try row.text(2)) else {
      throw DatabaseError.statement("a subscription's label is unknown")
    }
    self.label = label
    willRenew = try row.integer(3) == 1
    isDirty = try row.integer(4) == 1
    coverage = try row.text(5)
    policyVersion = try row.text(6)
    catalogueVersion = try row.text(7)
    transitionCount = try row.integer(8)
  }

  func write(_ key: ObjectKey, at now: Instant, in transaction: Transaction) throws {
    try transaction.execute(
      """
      INSERT INTO billing.subscriptions (object, realm, owner, owner_evidence, label, will_renew,
        dirty, coverage, policy_version, catalogue_version, transition_count, updated_ms)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
      ON CONFLICT (object) DO UPDATE SET owner = excluded.owner,
        owner_evidence = excluded.owner_evidence, label = excluded.label,
        will_renew = excluded.will_renew, dirty = excluded.dirty, coverage = excluded.coverage,
        policy_version = excluded.policy_version, catalogue_version = excluded.catalogue_version,
        transition_count = excluded.transition_count, updated_ms = excluded.updated_ms
      """, .text(key.description), .text(key.partition.rawValue), .id(owner),
      .text(ownerEvidence), .text(label.rawValue), .integer(willRenew ? 1 : 0),
      .integer(isDirty ? 1 : 0), .text(coverage), .text(policyVersion), .text(catalogueVersion),
      .integer(transitionCount), .instant(now))
  }
}

extension Ownership {
  fileprivate var text: String {
    switch self {
    case .unowned: "none"
    case .contested: "contested"
    case .owned(_, .subscriptionMetadata): "subscription"
    case .owned(_, .checkoutSession(let id)): "checkout.session:\(id)"
    }
  }
}
