package import Base
internal import Jobs
package import Storage
package import Stores
package import Subscriptions
package import Tiers

/// Why an account may store what it may, down to the deliveries that say so: for an admin.
package struct EntitlementExplanation: Sendable {
  package let account: Identifier
  package let now: Instant
  package let current: Schedule.Boundary
  /// As sync reads it: of the past it says what is known today.
  package let schedule: [Schedule.Boundary]
  /// What held, ascending and without a gap; empty where the schedule tells all of it. What is told
  /// of a time afterwards changes nothing here.
  package let held: [Schedule.Span]
  /// The schedule from the end of `held` on.
  package let remaining: [Schedule.Boundary]
  /// Under which rules its newest subscription was derived; nil where it owns none.
  package let derived: (policyVersion: String, catalogueVersion: String, at: Instant)?
  /// Sorted by their keys.
  package let subscriptions: [Subscription]
  /// Plans given by an admin, the oldest first.
  package let grants: [Grant]
  /// What was decided for it, and what took a subscription from it, the newest first.
  package let decisions: [Decided]
  /// Since when more than one of its subscriptions is paid for at once; nil while none is.
  package let paysTwiceSince: Instant?

  package struct Subscription: Sendable {
    package let key: ObjectKey
    /// Where it counts: a sandbox subscription grants only to listed accounts.
    package let environment: StoreEnvironment
    /// Derived for `now`, not as last stored.
    package let label: Label
    package let willRenew: Bool
    package let isDirty: Bool
    /// What names the account its owner, e.g. `subscription`, `transaction:<id>`, `claim:<n>`.
    package let ownerEvidence: String
    package let intervals: [Interval]
    /// The deliveries that show the subscription itself as it is.
    package let deliveries: [Delivery]
    /// Reads of it that its store still owes an answer, or never gave one.
    package let openReads: [OpenRead]
    /// The products it rests on that no catalogue lists any more.
    package let unmappedProducts: [String]
    /// The newest first.
    package let transitions: [Transition]
  }

  package struct OpenRead: Sendable {
    /// Since when reads have failed without an answer in between; nil while none has.
    package let unansweredSince: Instant?
    /// When it is tried next; nil once it was given up.
    package let due: Instant?
    /// How many tries have failed in a row.
    package let attempts: Int
    package let lastError: String?
  }

  package struct Interval: Sendable {
    package let planID: String
    package let from: Instant
    package let to: Instant
    package let why: CapReason
    /// The store's object that says so.
    package let evidence: ObjectKey
    /// The deliveries behind that object.
    package let deliveries: [Delivery]
  }

  package struct Delivery: Sendable, Hashable {
    package let id: Int64
    package let deliveryID: String
    package let type: String
    package let created: Instant?
    package let received: Instant
  }

  package struct Transition: Sendable, Hashable {
    package let at: Instant
    /// `clock`, `fact`, `policy` or `owner`.
    package let cause: String
    package let before: String
    package let after: String
    /// The number of the delivery or the decision that it came from.
    package let entry: Int64?
  }

  /// How many transitions of a subscription are told.
  private static let transitionCountMax: Int64 = 50

  /// How many decisions are told.
  private static let decisionCountMax: Int64 = 50

  /// `catalogue` tells what an account has that billing never heard of.
  package init(
    of account: Identifier, at now: Instant, catalogue: Catalogue, stores: StoreList,
    reading reader: Reader
  ) throws {
    self.account = account
    self.now = now
    let stored = try EntitlementRows.schedule(of: account, reading: reader)
    let schedule = Schedule(stored: stored) ?? .free(catalogue)
    self.schedule = schedule.boundaries
    held = try HeldRows.all(of: account, reading: reader)
    remaining = schedule.remaining(after: held)
    current = remaining.last { $0.from <= now } ?? remaining[0]
    derived = try reader.first(
      """
      SELECT policy_version, catalogue_version, updated_ms FROM billing.subscriptions
      WHERE owner = $1 ORDER BY updated_ms DESC LIMIT 1
      """, .id(account)
    ) { row in (try row.text(0), try row.text(1), try row.instant(2)) }
    grants = try Grant.active(of: account, reading: reader)
    decisions = try Decided.all(
      concerning: account, countMax: Self.decisionCountMax, reading: reader)
    paysTwiceSince = try reader.first(
      "SELECT since_ms FROM billing.double_payments WHERE account_id = $1", .id(account)
    ) { row in try row.instant(0) }
    let keys = try reader.rows(
      "SELECT object FROM billing.subscriptions WHERE owner = $1 ORDER BY object", .id(account)
    ) { row in try row.text(0) }
    subscriptions = try keys.compactMap { ObjectKey($0) }.compactMap { key in
      try Subscription(key, at: now, stores: stores, reading: reader)
    }
  }
}

extension Schedule {
  /// Its steps from the end of what held before; who had a plan and has none is told that it lapsed,
  /// though nothing is left that owed it.
  fileprivate func remaining(after held: [Span]) -> [Boundary] {
    var hadPlan = held.contains { $0.reason.givesAccess }
    return spans(from: held.last?.to ?? .distantPast, to: .distantFuture).map { span in
      hadPlan = hadPlan || span.reason.givesAccess
      let isLapsed = hadPlan && span.reason == .neverSubscribed
      return Boundary(
        from: span.from, capByteCount: span.capByteCount, planID: span.planID,
        reason: isLapsed ? .lapsed : span.reason)
    }
  }
}

extension EntitlementExplanation.Subscription {
  fileprivate init?(
    _ key: ObjectKey, at now: Instant, stores: StoreList, reading reader: Reader
  ) throws {
    guard let row = try SubscriptionRow(key, reading: reader) else { return nil }
    let coverage = try Coverage(text: row.coverage)
    self.key = key
    environment = row.environment
    label = Label(coverage, withoutAccess: row.labelWithoutAccess, at: now)
    willRenew = row.willRenew
    isDirty = row.isDirty
    ownerEvidence = row.ownerEvidence
    intervals = try coverage.intervals.map { interval in
      let evidence = key.sibling(interval.evidence.kind, interval.evidence.id)
      return EntitlementExplanation.Interval(
        planID: interval.planID, from: interval.from, to: interval.to, why: interval.why,
        evidence: evidence, deliveries: try Self.deliveries(of: evidence, reading: reader))
    }
    deliveries = Set(
      try stores.store(of: key).traits.shownBy.flatMap { kind in
        try Self.deliveries(of: key.sibling(kind, key.id), reading: reader)
      }
    ).sorted { $0.id < $1.id }
    openReads = try Self.openReads(of: key, reading: reader)
    unmappedProducts = coverage.unmappedProducts
    transitions = try Self.transitions(of: key, reading: reader)
  }

  private static func openReads(
    of key: ObjectKey, reading reader: Reader
  ) throws -> [EntitlementExplanation.OpenRead] {
    guard let job = try Jobs.find(Ledger.readJob, key.description, reading: reader),
      job.state != .settled
    else { return [] }
    return [
      EntitlementExplanation.OpenRead(
        unansweredSince: try Unanswered.since(key, reading: reader), due: job.due,
        attempts: job.attempts, lastError: job.lastError)
    ]
  }

  private static func deliveries(
    of key: ObjectKey, reading reader: Reader
  ) throws -> [EntitlementExplanation.Delivery] {
    try reader.rows(
      """
      SELECT d.id, d.delivery_id, d.type, d.created_ms, d.received_ms
      FROM billing.mirrors m JOIN billing.deliveries d ON d.id = m.delivery
      WHERE m.object = $1 ORDER BY d.id
      """, .text(key.description)
    ) { row in
      EntitlementExplanation.Delivery(
        id: try row.integer(0), deliveryID: try row.text(1), type: try row.text(2),
        created: try row.optionalInstant(3), received: try row.instant(4))
    }
  }

  private static func transitions(
    of key: ObjectKey, reading reader: Reader
  ) throws -> [EntitlementExplanation.Transition] {
    try reader.rows(
      """
      SELECT at_ms, cause, state_before, state_after, entry FROM billing.transitions
      WHERE object = $1 ORDER BY number DESC LIMIT $2
      """, .text(key.description), .integer(EntitlementExplanation.transitionCountMax)
    ) { row in
      EntitlementExplanation.Transition(
        at: try row.instant(0), cause: try row.text(1), before: try row.text(2),
        after: try row.text(3), entry: try row.optionalInteger(4))
    }
  }
}
