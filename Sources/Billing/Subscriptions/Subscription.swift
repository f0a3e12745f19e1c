package import Base
package import Tiers

/// Everything known about one subscription: what its store reported, and what was decided about it here.
/// Everything else about a subscription is a function of it.
package struct Subscription: Sendable {
  package let key: ObjectKey
  package private(set) var record: any StoreRecord
  package var decisions = Decisions()
  /// The owner of the purchase that this one continues.
  package var predecessor: Identifier?
  /// Since when the store has not answered reads of it; nil while it answers.
  package var unansweredSince: Instant?
  /// Whether the last owner, who is deleted here, has it at another Coffer.
  package var hasMoved = false

  /// `record` is its store's record, mostly with nothing known yet.
  package init(_ key: ObjectKey, _ record: any StoreRecord) {
    self.key = key
    self.record = record
  }

  /// Joins one object as a delivery shows it. Ignores another store's object, which is a mistake.
  package mutating func insert(_ fact: Fact, delivery: Int64) {
    record.insert(fact, delivery: delivery)
  }

  /// Whether maximal values disagree, so that the store must be read again.
  package var isDirty: Bool { record.isDirty }

  /// Objects that the subscription names and no delivery reported, although they decide what is owed.
  package var unknown: [ObjectKey] { record.unknown(of: key) }

  package func coverage(policy: Policy, catalogue: Catalogue) -> Coverage {
    let known = record.coverage(policy: policy, catalogue: catalogue)
    guard let unansweredSince, willRenew else { return known }
    return known.carriedOn(
      unansweredSince: unansweredSince, longest: policy.outage, upTo: record.endDate)
  }

  /// The label while nothing is owed by `coverage`, which must be its own.
  package func labelWithoutAccess(_ coverage: Coverage) -> Label {
    record.labelWithoutAccess(hadAccess: !coverage.intervals.isEmpty)
  }

  package func label(_ coverage: Coverage, at now: Instant) -> Label {
    Label(coverage, withoutAccess: labelWithoutAccess(coverage), at: now)
  }

  /// Whether the store will bill again if no one intervenes.
  package var willRenew: Bool { record.willRenew }

  /// Since when `willRenew` has its value, by the store's own time; nil if the store does not report it.
  package var renewalSince: Instant? { record.renewalSince }

  package var ownership: Ownership {
    Ownership(token: record.token, predecessor: predecessor, decisions: decisions)
  }

  /// The accounts that the store or an earlier purchase names.
  package var candidates: Set<Identifier> {
    var accounts = Set([predecessor].compactMap { $0 })
    if case .account(let account, _) = record.token { accounts.insert(account) }
    return accounts
  }

  /// Objects that concern the subscription without being linked to it: if one ends, the subscription ends.
  package var companions: [ObjectKey] { record.companions(of: key) }

  /// Since when the store has waited for an acknowledgement, without which it takes the purchase back.
  package var unacknowledgedSince: Instant? { record.unacknowledgedSince }

  /// The environment in which the purchase counts: a tester's purchase is from the sandbox,
  /// whatever its deliveries say.
  package var environment: StoreEnvironment { record.isTest ? .sandbox : key.environment }
}

extension Subscription: Equatable {
  package static func == (a: Subscription, b: Subscription) -> Bool {
    a.key == b.key && a.record.isSame(as: b.record) && a.decisions == b.decisions
      && a.predecessor == b.predecessor && a.unansweredSince == b.unansweredSince
      && a.hasMoved == b.hasMoved
  }
}
