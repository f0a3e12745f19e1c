internal import Base
internal import Storage
internal import Stores
package import Subscriptions

/// One subscription derived anew: what it was, what it is, and what is worth an audit line.
package struct Derivation {
  let key: ObjectKey
  let ownership: Ownership
  let isDirty: Bool
  let coverage: Coverage
  /// Whether it has an owner for whom its store must be told that it was delivered.
  let awaitsAcknowledgement: Bool
  /// Objects that it names and nobody told of.
  let unknown: [ObjectKey]
  /// The accounts whose schedules must follow.
  private(set) var accounts: Set<Identifier> = []
  /// Alarms that the stored coverage did not have yet.
  package private(set) var newAlarms: Set<Coverage.Alarm> = []
  /// Whether time alone did something that it may not do.
  private(set) var hasUnplannedEdge = false
  /// Whether its owner became disputed.
  private(set) var becameContested = false

  private let now: Instant
  private let stored: SubscriptionRow?
  /// When it last stood otherwise, of a store that tells only how it stands: what is new is newer.
  private let toldBefore: Instant?
  private var transitions: [Transition] = []

  enum Cause: String { case clock, fact, policy, owner }

  private struct Transition {
    /// When it came true; noticed are all of them now.
    let at: Instant
    let cause: Cause
    let before: String
    let after: String
    /// Beside the last one of an entry that changed what is owed.
    var owed: OwedChange?
  }

  /// Derives from everything the transaction sees, and writes what changed.
  init(
    of key: ObjectKey, _ reading: LedgerReading, cause: Cause, entry: Int64?, rules: LedgerRules,
    at now: Instant, in transaction: Transaction
  ) throws {
    let subscription = try reading.subscription(key)
    self.key = key
    self.now = now
    ownership = subscription.ownership
    isDirty = subscription.isDirty
    awaitsAcknowledgement =
      ownership.account != nil && subscription.unacknowledgedSince != nil
    unknown = subscription.unknown
    stored = try reading.stored(key).row
    let storedCoverage = try stored.map { try Coverage(text: $0.coverage) } ?? .none
    coverage = subscription.coverage(policy: rules.policy, catalogue: rules.catalogue)
    let traits = try reading.stores.store(of: key).traits
    toldBefore = traits.tellsPeriods ? nil : stored?.updated
    let attention = AttentionRows(subscription, coverage, traits: traits, rules: rules)
    var derived = SubscriptionRow(
      subscription, coverage, attention, rules: rules, at: now,
      transitionCount: stored?.transitionCount ?? reading.memory.keptTransitionCounts[key] ?? 0)
    if let stored { noteClock(stored, storedCoverage) }
    if derived.transitionCount == 0 || stored != nil {
      noteLabel(derived, cause, storedCoverage)
      try noteRenewal(
        derived, since: subscription.renewalSince, cause, storedCoverage, in: transaction)
      noteOwner(derived)
      if entry != nil { noteOwed(derived, cause, storedCoverage) }
    }
    reading.memory.coverages[key] = coverage
    newAlarms = coverage.alarms.subtracting(storedCoverage.alarms)
    derived.transitionCount += Int64(transitions.count)
    if let stored, derived.says(theSameAs: stored) { return }
    try writeTransitions(entry: entry, in: transaction)
    try derived.write(key, in: transaction)
    reading.memory.subscriptions[key]?.row = derived
    if !coverage.unmappedProducts.isEmpty || !storedCoverage.unmappedProducts.isEmpty {
      try UnmappedProducts.write(coverage, of: key, in: transaction)
    }
    if derived.attention != stored?.attention ?? "" {
      try attention.write(key, at: now, in: transaction)
    }
    let isSame = stored.map { derived.owesTheSame(as: $0) } ?? false
    if !isSame { accounts = Set([derived.owner, stored?.owner].compactMap { $0 }) }
  }

  /// What time did since the last fact, told apart from what the next fact does.
  private mutating func noteClock(_ stored: SubscriptionRow, _ coverage: Coverage) {
    var before = stored.label
    for moment in coverage.boundaries(after: stored.updated, upTo: now) {
      let label = Label(coverage, withoutAccess: stored.labelWithoutAccess, at: moment)
      guard label != before else { continue }
      if !before.mayBecomeByClock(label) { hasUnplannedEdge = true }
      transitions.append(
        Transition(at: moment, cause: .clock, before: before.rawValue, after: label.rawValue))
      before = label
    }
  }

  private mutating func noteLabel(
    _ derived: SubscriptionRow, _ cause: Cause, _ storedCoverage: Coverage
  ) {
    let before = transitions.last?.after ?? stored?.label.rawValue ?? "none"
    guard before != derived.label.rawValue else { return }
    transitions.append(
      Transition(
        at: cameTrue(derived, after: Label(rawValue: before), storedCoverage), cause: cause,
        before: before, after: derived.label.rawValue))
  }

  /// Since when, without a gap, the coverage has had the access that the label tells, or none where
  /// there was some before, while the stored one had the label of before: what repairs a failure is no
  /// older than it. What no coverage tells came true when it was told.
  private func cameTrue(
    _ derived: SubscriptionRow, after before: Label?, _ storedCoverage: Coverage
  ) -> Instant {
    guard derived.label.givesAccess || before?.givesAccess == true else { return now }
    let moments = Set(
      [coverage, storedCoverage].flatMap {
        $0.boundaries(after: toldBefore ?? .distantPast, upTo: now)
      })
    return moments.sorted(by: >).prefix { moment in
      let then = Label(coverage, withoutAccess: derived.labelWithoutAccess, at: moment)
      let isTold = derived.label.givesAccess ? then == derived.label : !then.givesAccess
      guard let stored else { return isTold }
      return isTold
        && Label(storedCoverage, withoutAccess: stored.labelWithoutAccess, at: moment) == before
    }.last ?? now
  }

  /// That what goes on to give access was told to renew no more, or to renew again after that.
  private mutating func noteRenewal(
    _ derived: SubscriptionRow, since told: Instant?, _ cause: Cause, _ storedCoverage: Coverage,
    in transaction: Transaction
  ) throws {
    guard let stored, stored.willRenew != derived.willRenew, derived.label.givesAccess,
      Label(storedCoverage, withoutAccess: stored.labelWithoutAccess, at: now).givesAccess
    else { return }
    // Before its store told, nothing was known of a renewal: that is no change.
    let isKnown =
      try stored.willRenew || RenewalChange.last(of: key, reading: transaction) == .ended
    guard isKnown else { return }
    let (before, after): (RenewalChange, RenewalChange) =
      derived.willRenew ? (.ended, .begun) : (.begun, .ended)
    transitions.append(
      Transition(
        at: min(told ?? now, now), cause: cause, before: before.rawValue, after: after.rawValue))
  }

  private mutating func noteOwner(_ derived: SubscriptionRow) {
    becameContested =
      ownership.evidence == .contested && stored?.ownerEvidence != derived.ownerEvidence
    guard derived.owner != stored?.owner else { return }
    transitions.append(
      Transition(
        at: now, cause: .owner, before: stored?.owner?.description ?? "none",
        after: derived.owner?.description ?? "none"))
  }

  /// A renewal changes neither state nor owner: its row says the same state twice.
  private mutating func noteOwed(
    _ derived: SubscriptionRow, _ cause: Cause, _ storedCoverage: Coverage
  ) {
    guard derived.coverage != stored?.coverage,
      let change = OwedChange(from: storedCoverage, to: coverage, at: now)
    else { return }
    if transitions.isEmpty {
      let label = derived.label.rawValue
      transitions = [Transition(at: now, cause: cause, before: label, after: label)]
    }
    transitions[transitions.count - 1].owed = change
  }

  private func writeTransitions(entry: Int64?, in transaction: Transaction) throws {
    // Counted from those that are there: the row that counts them may be lost.
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
