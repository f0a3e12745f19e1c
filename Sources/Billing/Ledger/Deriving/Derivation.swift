import Base
package import Storage
import Stores
package import Subscriptions

/// A new derivation of one subscription: the earlier state, the present state, and what deserves an
/// audit line. Only `write` changes anything.
package struct Derivation {
  let key: ObjectKey
  let ownership: Ownership
  package let isDirty: Bool
  package let coverage: Coverage
  /// Whether it has an owner and its store waits for an acknowledgement.
  let awaitsAcknowledgement: Bool
  /// Objects that it names and no delivery reported.
  let unknown: [ObjectKey]
  /// The accounts whose schedules must follow it.
  private(set) var accounts: Set<Identifier> = []
  /// Alarms that the stored coverage did not have yet.
  let newAlarms: Set<Coverage.Alarm>
  /// Whether time alone made a change that it may not make.
  private(set) var hasUnplannedEdge = false
  /// Whether its owner became contested.
  private(set) var becameContested = false
  /// The row to store.
  private(set) var row: SubscriptionRow

  private let now: Instant
  private let entry: Int64?
  private let cause: Cause
  private let stored: SubscriptionRow?
  private let storedCoverage: Coverage
  private let attention: AttentionRows
  /// When the state last differed, for a store that reports only the present state. What is new is
  /// later than that.
  private let toldBefore: Instant?
  private var transitions: [Transition] = []
  /// Whether there is anything to write.
  private(set) var isNew = true

  package enum Cause: String { case clock, fact, policy, owner }

  private struct Transition {
    /// When it took effect. All transitions are noticed now.
    let at: Instant
    let cause: Cause
    let before: String
    let after: String
    /// Set in the last transition of an entry that changed what is owed.
    var owed: OwedChange?
  }

  /// Derives from everything that is stored. `entry` is the delivery or decision that caused the derivation.
  init(
    of key: ObjectKey, _ reading: LedgerReading, cause: Cause, entry: Int64?, rules: LedgerRules,
    at now: Instant
  ) throws {
    let subscription = try reading.subscription(key)
    self.key = key
    self.now = now
    self.entry = entry
    self.cause = cause
    ownership = subscription.ownership
    isDirty = subscription.isDirty
    awaitsAcknowledgement =
      ownership.account != nil && subscription.unacknowledgedSince != nil
    unknown = subscription.unknown
    stored = try reading.stored(key).row
    storedCoverage = try stored.map { try Coverage(text: $0.coverage) } ?? .none
    coverage = subscription.coverage(policy: rules.policy, catalogue: rules.catalogue)
    newAlarms = coverage.alarms.subtracting(storedCoverage.alarms)
    let traits = try reading.stores.store(of: key).traits
    toldBefore = traits.tellsPeriods ? nil : stored?.updated
    attention = AttentionRows(subscription, coverage, traits: traits, rules: rules)
    row = SubscriptionRow(
      subscription, coverage, attention, rules: rules, at: now,
      transitionCount: stored?.transitionCount ?? reading.memory.keptTransitionCounts[key] ?? 0)
    if let stored { noteClock(stored) }
    // If the row was lost, the changes up to now were recorded before.
    if row.transitionCount == 0 || stored != nil {
      noteLabel()
      try noteRenewal(since: subscription.renewalSince, reading: reading.database)
      noteOwner()
      if entry != nil { noteOwed() }
    }
    row.transitionCount += Int64(transitions.count)
    isNew = stored.map { !row.says(theSameAs: $0) } ?? true
    if isNew, !(stored.map { row.owesTheSame(as: $0) } ?? false) {
      accounts = Set([row.owner, stored?.owner].compactMap { $0 })
    }
  }

  /// Writes what changed.
  package func write(in transaction: Transaction) throws {
    guard isNew else { return }
    try writeTransitions(in: transaction)
    try row.write(key, in: transaction)
    if !coverage.unmappedProducts.isEmpty || !storedCoverage.unmappedProducts.isEmpty {
      try UnmappedProducts.write(coverage, of: key, in: transaction)
    }
    if row.attention != stored?.attention ?? "" {
      try attention.write(key, at: now, in: transaction)
    }
  }

  /// Records what time changed since the last fact, apart from what the next fact changes.
  private mutating func noteClock(_ stored: SubscriptionRow) {
    for (moment, before, after) in stored.changesByClock(storedCoverage, upTo: now) {
      if !before.mayBecomeByClock(after) { hasUnplannedEdge = true }
      transitions.append(
        Transition(at: moment, cause: .clock, before: before.rawValue, after: after.rawValue))
    }
  }

  private mutating func noteLabel() {
    let before = transitions.last?.after ?? stored?.label.rawValue ?? "none"
    guard before != row.label.rawValue else { return }
    transitions.append(
      Transition(
        at: cameTrue(after: Label(rawValue: before)), cause: cause, before: before,
        after: row.label.rawValue))
  }

  /// When the new label took effect.
  ///
  /// It is the start of the time without a gap in which the coverage has had the access of the
  /// label, or none if there was some before. In that time, the stored coverage must have had the
  /// label of before, so a repair is never earlier than its failure. A label that no coverage shows
  /// took effect when it was reported.
  private func cameTrue(after before: Label?) -> Instant {
    guard row.label.givesAccess || before?.givesAccess == true else { return now }
    let moments = Set(
      [coverage, storedCoverage].flatMap {
        $0.boundaries(after: toldBefore ?? .distantPast, upTo: now)
      })
    return moments.sorted(by: >).prefix { moment in
      let then = Label(coverage, withoutAccess: row.labelWithoutAccess, at: moment)
      let isTold = row.label.givesAccess ? then == row.label : !then.givesAccess
      guard let stored else { return isTold }
      return isTold
        && Label(storedCoverage, withoutAccess: stored.labelWithoutAccess, at: moment) == before
    }.last ?? now
  }

  /// Records that a subscription that still gives access will not renew, or will renew again after that.
  private mutating func noteRenewal(
    since told: Instant?, reading database: any Queryable
  ) throws {
    guard let stored, stored.willRenew != row.willRenew, row.label.givesAccess,
      Label(storedCoverage, withoutAccess: stored.labelWithoutAccess, at: now).givesAccess
    else { return }
    // Before its store's report nothing was known of a renewal, so that is no change.
    let isKnown =
      try stored.willRenew || RenewalChange.last(of: key, reading: database) == .ended
    guard isKnown else { return }
    let (before, after): (RenewalChange, RenewalChange) =
      row.willRenew ? (.ended, .begun) : (.begun, .ended)
    transitions.append(
      Transition(
        at: min(told ?? now, now), cause: cause, before: before.rawValue, after: after.rawValue))
  }

  private mutating func noteOwner() {
    becameContested =
      ownership.evidence == .contested && stored?.ownerEvidence != row.ownerEvidence
    guard row.owner != stored?.owner else { return }
    transitions.append(
      Transition(
        at: now, cause: .owner, before: stored?.owner?.description ?? "none",
        after: row.owner?.description ?? "none"))
  }

  /// A renewal changes neither state nor owner, so its row has the same state twice.
  private mutating func noteOwed() {
    guard row.coverage != stored?.coverage,
      let change = OwedChange(from: storedCoverage, to: coverage, at: now)
    else { return }
    if transitions.isEmpty {
      let label = row.label.rawValue
      transitions = [Transition(at: now, cause: cause, before: label, after: label)]
    }
    transitions[transitions.count - 1].owed = change
  }

  private func writeTransitions(in transaction: Transaction) throws {
    // The numbers follow the stored rows, because the row that counts them may be lost.
    for transition in transitions {
      try transaction.execute(
        """
        INSERT INTO billing.transitions (object, number, at_ms, cause, state_before, state_after,
          entry, noticed_ms, owed_before, owed_after)
        VALUES ($1,
          (SELECT coalesce(max(number), 0) + 1 FROM billing.transitions WHERE object = $1),
          $2, $3, $4, $5, $6, $7, $8, $9)
        """, .text(key.description), .instant(transition.at), .text(transition.cause.rawValue),
        .text(transition.before), .text(transition.after), .integer(entry), .instant(now),
        .text(transition.owed?.beforeText), .text(transition.owed?.afterText))
    }
  }
}
