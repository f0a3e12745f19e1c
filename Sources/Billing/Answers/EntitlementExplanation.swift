package import Base
package import Ledger
package import ProviderAPI
package import Storage
package import Stores
package import Subscriptions
package import Tiers

/// Why an account may store what it may, down to the deliveries that say so: for an admin.
package struct EntitlementExplanation: Sendable {
  package let account: Identifier
  package let now: Instant
  /// What is asked about: `now`, or another moment.
  package let moment: Instant
  /// What holds at `now`.
  package let current: Schedule.Boundary
  /// As sync reads it: of the past it says what is known today.
  package let schedule: [Schedule.Boundary]
  /// What held, ascending and without a gap; empty where the schedule tells all of it. What is told
  /// of a time afterwards changes nothing here.
  package let held: [Schedule.Span]
  /// The schedule from the end of `held` on.
  package let remaining: [Schedule.Boundary]
  /// The plans' names for people.
  package let catalogue: Catalogue
  /// The catalogue that holds, by its number, and since when; nil before there is one of record.
  package let catalogueOfRecord: (number: Int64, since: Instant)?
  /// Under which rules its newest subscription was derived; nil where it owns none.
  package let derived: (policyVersion: String, catalogueVersion: String, at: Instant)?
  /// Sorted by their keys.
  package let subscriptions: [Subscription]
  /// Plans given by an admin, the oldest first.
  package let grants: [Grant]
  /// What was decided for it, and what took a subscription from it, the newest first.
  package let decisions: [Decided]
  /// What it claimed and did not get, the newest first.
  package let refusedClaims: [RefusedClaim]
  /// What it may pay for, as the name says, and nothing is derived of before it is read.
  package let unread: [Unread]
  /// What it owned and does not any more, the newest first.
  let lost: [Loss]
  /// Since when more than one of its subscriptions is paid for at once; nil while none is.
  package let paysTwiceSince: Instant?
  /// What those are, and which adds nothing; nil where the time of one is over meanwhile.
  package let paidTwice: PaidTwice?
  /// Since when there is nothing left of the account, in either program; nil while there is.
  package var erased: Instant? { deletionParts?.erased }
  /// Since when an operator lets nothing of it be written; nil where nobody does.
  package let suspended: Instant?
  /// When its end was asked for; nil where it stays.
  package let leaving: Instant?
  /// How far each part has come with that end; nil where none was asked for.
  package let deletionParts: DeletionParts?
  /// When that end comes; nil until it is exported.
  package let erases: Instant?

  package struct Subscription: Sendable {
    package let key: ObjectKey
    /// What people call its store.
    package let store: String
    /// Whether that tells what each period was; else only how the purchase stands now.
    let tellsPeriods: Bool
    /// Where it counts: a sandbox subscription grants only to listed accounts.
    package let environment: StoreEnvironment
    /// Derived for `now`, not as last stored.
    package let label: Label
    /// The same for `moment`, by what is known at `now`.
    package let labelThen: Label
    package let willRenew: Bool
    package let isDirty: Bool
    /// What names the account its owner, e.g. `subscription`, `transaction:<id>`, `claim:<n>`.
    package let ownerEvidence: String
    package let intervals: [Interval]
    /// Its products, and the money that came and went.
    package let bill: Bill
    /// What it becomes with its next renewal; nil where it stays what it is, or nothing tells.
    package let next: Next?
    /// Whether it stands still, and why.
    package let pause: Pause?
    /// Until when its store must be told that it was delivered; nil where nothing waits for that.
    package let acknowledgedBy: Instant?
    /// The deliveries that show the subscription itself as it is.
    package let deliveries: [Delivery]
    /// Reads of it that its store still owes an answer, or never gave one.
    package let openReads: [OpenRead]
    /// The products it rests on that no catalogue lists any more.
    package let unmappedProducts: [String]
    /// Its products that no catalogue ever listed.
    package let unknownProducts: [String]
    /// Of what it is for now what the catalogue lists as no storage.
    package let ignoredItems: Set<Bill.Item>
    /// What of it needs attention, the oldest first; that its store waits for an acknowledgement says
    /// `acknowledgedBy`.
    package let attention: [Attention]
    /// The newest first.
    package let transitions: [Transition]
  }

  package struct Next: Sendable {
    package let item: Bill.Item
    /// Nil where the catalogue gives no storage for it.
    package let plan: Plan?
  }

  /// A subscription that went from the account.
  struct Loss: Sendable {
    let at: Instant
    /// The number of the delivery or the decision that it came from.
    let entry: Int64?
  }

  package struct Unread: Sendable {
    package let key: ObjectKey
    /// What people call its store.
    package let store: String
    package let read: OpenRead
  }

  package struct OpenRead: Sendable {
    /// Why it was last asked for: a reason of the ledger's, e.g. `contradiction`; nil: nobody told.
    package let reason: String?
    /// Since when reads have failed without an answer in between; nil while none has.
    package let unansweredSince: Instant?
    /// Until when time alone takes nothing while they fail; nil where that holds nothing up.
    package let carriedOnUntil: Instant?
    /// When it is tried next; nil once it was given up.
    package let due: Instant?
    /// How many tries have failed in a row.
    package let attempts: Int
    package let lastError: String?

    /// Why the last try failed; nil where none has.
    package var cause: APIFailure.Cause? { lastError.map { APIFailure.Cause(told: $0) } }
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
    /// When it came true.
    package let at: Instant
    /// When it was noticed; nil of an edge of the clock that was kept before this was.
    package let noticed: Instant?
    /// `clock`, `fact`, `policy` or `owner`.
    package let cause: String
    package let before: String
    package let after: String
    /// The number of the delivery or the decision that it came from.
    package let entry: Int64?
  }

  /// How many decisions are told, and how many losses known.
  private static let decisionCountMax: Int64 = 50

  /// `catalogue` tells what an account has that billing never heard of; `moment` is another time than
  /// `now` to explain.
  package init(
    of account: Identifier, at now: Instant, about moment: Instant? = nil, catalogue: Catalogue,
    stores: StoreList, reading reader: Reader
  ) throws {
    self.account = account
    self.now = now
    self.moment = moment ?? now
    self.catalogue = catalogue
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
    catalogueOfRecord = try reader.first(
      """
      SELECT number, since_ms FROM billing.catalogues_of_record ORDER BY number DESC LIMIT 1
      """
    ) { row in (try row.integer(0), try row.instant(1)) }
    grants = try Grant.active(of: account, reading: reader)
    decisions = try Decided.all(
      concerning: account, countMax: Self.decisionCountMax, reading: reader)
    paysTwiceSince = try reader.first(
      "SELECT since_ms FROM billing.double_payments WHERE account_id = $1", .id(account)
    ) { row in try row.instant(0) }
    let deletion = try reader.first(
      """
      SELECT asked_ms, erase_ms, suspended_ms FROM sync.account_deletions
      WHERE account_id = $1
      """, .id(account)
    ) { row in
      (
        asked: try row.instant(0), erases: try row.optionalInstant(1),
        suspended: try row.optionalInstant(2)
      )
    }
    (leaving, erases) = (deletion?.asked, deletion?.erases)
    deletionParts = try DeletionParts(of: account, reading: reader)
    // While its end is waited for it is suspended by that, and beside it is kept what was before.
    suspended =
      if let deletion { deletion.suspended } else {
        try reader.first("SELECT suspended_ms FROM sync.accounts WHERE id = $1", .id(account)) {
          row in try row.optionalInstant(0)
        }.flatMap { $0 }
      }
    lost = try Self.losses(of: account, reading: reader)
    refusedClaims = try RefusedClaims.all(of: account, at: now, reading: reader)
    let keys = try reader.rows(
      "SELECT object FROM billing.subscriptions WHERE owner = $1 ORDER BY object", .id(account)
    ) { row in try row.text(0) }
    let reading = LedgerReading(of: stores, database: reader)
    unread = try reading.unread(namedBy: account)
    subscriptions = try keys.compactMap { ObjectKey($0) }.compactMap { key in
      try Subscription(key, at: now, about: moment ?? now, catalogue, reading)
    }
    paidTwice =
      paysTwiceSince == nil
      ? nil
      : try PaidTwice(
        // No money of a sandbox's is to be refunded.
        subscriptions.filter { $0.environment != .sandbox }, catalogue, stores, at: now)
  }

  private static func losses(of account: Identifier, reading reader: Reader) throws -> [Loss] {
    try reader.rows(
      """
      SELECT t.noticed_ms, t.entry FROM billing.transitions AS t
      WHERE t.cause = 'owner' AND t.state_before <> 'none' AND t.state_before = $1
        AND NOT EXISTS (SELECT 1 FROM billing.subscriptions AS s
          WHERE s.object = t.object AND s.owner = $2)
      ORDER BY t.at_ms DESC LIMIT $3
      """, .text(account.description), .id(account), .integer(decisionCountMax)
    ) { row in Loss(at: try row.instant(0), entry: try row.optionalInteger(1)) }
  }
}

extension EntitlementExplanation {
  /// What held at `moment`, as the servers acted on it; nil for a time that has not come.
  package var heldThen: Schedule.Boundary? {
    guard moment <= now else { return nil }
    return timeline.last { $0.from <= moment }
  }

  /// What is known now to have been owed at `moment`, or to be owed then if nothing more comes.
  package var owedThen: Schedule.Boundary {
    let boundaries = moment <= now ? schedule : remaining
    return boundaries.last { $0.from <= moment } ?? boundaries[0]
  }

  /// Whether nothing is left of the account at `moment`, as far as is known.
  package var isErasedThen: Bool { (erased ?? erases).map { $0 <= moment } ?? false }

  /// Whether a store still tries to collect for any of its subscriptions, so that a payment that
  /// succeeds brings a plan back.
  package var awaitsPayment: Bool {
    subscriptions.contains { $0.willRenew || $0.label == .onHold }
  }

  /// What held, and from there on what the schedule says; neighbours differ in more than their start.
  var timeline: [Schedule.Boundary] {
    let steps =
      held.map { span in
        Schedule.Boundary(
          from: span.from, capByteCount: span.capByteCount, planID: span.planID,
          reason: span.reason)
      } + remaining
    return steps.indices.filter { index in
      guard index > 0 else { return true }
      let (step, before) = (steps[index], steps[index - 1])
      return (step.capByteCount, step.planID, step.reason)
        != (before.capByteCount, before.planID, before.reason)
    }.map { steps[$0] }
  }
}

extension Schedule {
  /// Its steps from the end of what held before; who had a plan and has none is told that it lapsed,
  /// though nothing is left that owed it.
  fileprivate func remaining(after held: [Span]) -> [Boundary] {
    var hadPlan = held.contains { $0.reason.isFounded }
    return spans(from: held.last?.to ?? .distantPast, to: .distantFuture).map { span in
      hadPlan = hadPlan || span.reason.isFounded
      let isLapsed = hadPlan && span.reason == .neverSubscribed
      return Boundary(
        from: span.from, capByteCount: span.capByteCount, planID: span.planID,
        reason: isLapsed ? .lapsed : span.reason)
    }
  }
}
