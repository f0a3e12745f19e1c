package import Base
package import Ledger
package import ProviderAPI
package import Storage
package import Stores
package import Subscriptions
package import Tiers

/// The reasons for an account's cap, down to the deliveries that prove them; for an operator.
package struct EntitlementExplanation: Sendable {
  package let account: Identifier
  package let now: Instant
  /// The moment to explain: `now` or another.
  package let moment: Instant
  /// The boundary in force at `now`.
  package let current: Schedule.Boundary
  /// The schedule as coffer-sync reads it. For the past, it shows what is known today.
  package let schedule: [Schedule.Boundary]
  /// The spans that were in force, ascending and without gaps; empty if the schedule shows all of
  /// it. Later reports about a time change nothing here.
  package let held: [Schedule.Span]
  /// The schedule from the end of `held` on.
  package let remaining: [Schedule.Boundary]
  /// The source of the plans' names for people.
  package let catalogue: Catalogue
  /// The catalogue of record, by its number, and its start; nil before there is one.
  package let catalogueOfRecord: (number: Int64, since: Instant)?
  /// The rules under which the account's newest subscription was derived; nil if it owns none.
  package let derived: (policyVersion: String, catalogueVersion: String, at: Instant)?
  /// Sorted by their keys.
  package let subscriptions: [Subscription]
  /// Plans granted by an operator, oldest first.
  package let grants: [Grant]
  /// Decisions about the account, and those that took a subscription from it, newest first.
  package let decisions: [Decided]
  /// Its refused claims, newest first.
  package let refusedClaims: [RefusedClaim]
  /// Purchases that the account may pay for, as they are named after it. Nothing is derived for
  /// them before they are read.
  package let unread: [Unread]
  /// When it lost subscriptions that it owned and no longer does, newest first, each with the number
  /// of the delivery or the decision that caused it.
  let lost: [(at: Instant, entry: Int64?)]
  /// Since when more than one of its subscriptions is paid for at once; nil while none is.
  package let paysTwiceSince: Instant?
  /// These subscriptions, and those that add nothing; nil if the period of one has since ended.
  package let paidTwice: PaidTwice?
  /// Since when nothing is left of the account in either program; nil while something is.
  package var erased: Instant? { deletionParts?.erased }
  /// Since when an operator has blocked the account's writes; nil if they are not blocked.
  package let suspended: Instant?
  /// When the account's deletion was requested; nil if it was not.
  package let leaving: Instant?
  /// How far each part of that deletion has come; nil if none was requested.
  package let deletionParts: DeletionParts?
  /// When the erasure is due; nil until the account is exported.
  package let erases: Instant?

  package struct Subscription: Sendable {
    package let key: ObjectKey
    /// The store's name for people.
    package let store: String
    /// Whether the store reports each period; otherwise it reports only the purchase's present state.
    let tellsPeriods: Bool
    /// The environment in which it counts: a sandbox subscription grants only to listed accounts.
    package let environment: StoreEnvironment
    /// Derived for `now`, not as last stored.
    package let label: Label
    /// The label at `moment`, by what is known at `now`.
    package let labelThen: Label
    package let willRenew: Bool
    package let isDirty: Bool
    /// The evidence that the account is the owner, e.g. `subscription`, `transaction:<id>`, `claim:<n>`.
    package let ownerEvidence: String
    package let intervals: [Interval]
    /// Its products, and the money received and returned.
    package let bill: Bill
    /// The item after its next renewal; nil if it stays the same or is unknown.
    package let next: Next?
    /// Whether it is paused, and why.
    package let pause: Pause?
    /// Until when its store must receive an acknowledgement; nil if none is awaited.
    package let acknowledgedBy: Instant?
    /// The deliveries that show the subscription itself as it is.
    package let deliveries: [Delivery]
    /// Reads of it that its store has not answered yet, or never answered.
    package let openReads: [OpenRead]
    /// The products that it depends on and no catalogue lists any more.
    package let unmappedProducts: [String]
    /// Its products that no catalogue ever listed.
    package let unknownProducts: [String]
    /// Its current items that the catalogue lists as no storage.
    package let ignoredItems: Set<Bill.Item>
    /// Its attention items, oldest first, except an awaited acknowledgement, which `acknowledgedBy` shows.
    package let attention: [Attention]
    /// Newest first.
    package let transitions: [Transition]
  }

  /// An item, and its plan; nil if the catalogue gives no storage for it.
  package typealias Next = (item: Bill.Item, plan: Plan?)

  package struct Unread: Sendable {
    package let key: ObjectKey
    /// The store's name for people.
    package let store: String
    package let read: OpenRead
  }

  package struct OpenRead: Sendable {
    /// Why it was last requested: a reason of the ledger, e.g. `contradiction`; nil if unknown.
    package let reason: String?
    /// Since when reads have failed without an answer in between; nil while none has.
    package let unansweredSince: Instant?
    /// Until when access is extended while they fail; nil if that extends nothing.
    package let carriedOnUntil: Instant?
    /// When it is tried next; nil once it has failed permanently.
    package let due: Instant?
    /// The number of failed tries in a row.
    package let attempts: Int
    package let lastError: String?

    /// Why the last try failed; nil if none has.
    package var cause: APIFailure.Cause? { lastError.map { APIFailure.Cause(told: $0) } }
  }

  package struct Interval: Sendable {
    package let planID: String
    package let from: Instant
    package let to: Instant
    package let why: CapReason
    /// The store's object that proves it.
    package let evidence: ObjectKey
    /// The deliveries behind that object.
    package let deliveries: [Delivery]

    func contains(_ moment: Instant) -> Bool { from <= moment && moment < to }
  }

  package struct Delivery: Sendable, Hashable {
    package let id: Int64
    package let deliveryID: String
    package let type: String
    package let created: Instant?
    package let received: Instant
  }

  package struct Transition: Sendable, Hashable {
    /// When it took effect.
    package let at: Instant
    /// When it was noticed.
    package let noticed: Instant
    /// `clock`, `fact`, `policy` or `owner`.
    package let cause: String
    package let before: String
    package let after: String
    /// The number of the delivery or the decision that caused it.
    package let entry: Int64?

    /// The columns that `init` reads, in its order.
    static let columns = "at_ms, noticed_ms, cause, state_before, state_after, entry"

    init(_ row: borrowing Row) throws {
      at = try row.instant(0)
      noticed = try row.instant(1)
      cause = try row.text(2)
      before = try row.text(3)
      after = try row.text(4)
      entry = try row.optionalInteger(5)
    }
  }

  /// The most decisions that are listed, and the most losses that are read.
  private static let decisionCountMax: Int64 = 50

  /// `catalogue` gives the schedule of an account that is unknown to billing. `moment` is the time
  /// to explain, if not `now`.
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
    // A pending deletion suspends the account; its row keeps the suspension from before.
    suspended =
      if let deletion { deletion.suspended } else {
        try reader.first("SELECT suspended_ms FROM sync.accounts WHERE id = $1", .id(account)) {
          row in try row.optionalInstant(0)
        }.flatMap { $0 }
      }
    lost = try reader.rows(
      """
      SELECT t.noticed_ms, t.entry FROM billing.transitions AS t
      WHERE t.cause = 'owner' AND t.state_before <> 'none' AND t.state_before = $1
        AND NOT EXISTS (SELECT 1 FROM billing.subscriptions AS s
          WHERE s.object = t.object AND s.owner = $2)
      ORDER BY t.at_ms DESC LIMIT $3
      """, .text(account.description), .id(account), .integer(Self.decisionCountMax)
    ) { row in (at: try row.instant(0), entry: try row.optionalInteger(1)) }
    refusedClaims = try RefusedClaims.all(of: account, at: now, reading: reader)
    let reading = LedgerReading(of: stores, database: reader)
    unread = try reading.unread(namedBy: account)
    subscriptions = try reading.subscriptions(ownedBy: account).compactMap { key in
      try Subscription(key, at: now, about: moment ?? now, catalogue, reading)
    }
    paidTwice =
      paysTwiceSince == nil
      ? nil
      : try PaidTwice(
        // Sandbox purchases have no money to refund.
        subscriptions.filter { $0.environment != .sandbox }, catalogue, stores, at: now)
  }
}

extension EntitlementExplanation {
  /// The boundary in force at `moment`, as the servers acted on it; nil for a future time.
  package var heldThen: Schedule.Boundary? {
    guard moment <= now else { return nil }
    return timeline.last { $0.from <= moment }
  }

  /// The boundary owed at `moment` as known now. For a future time, it is owed if no further events come.
  package var owedThen: Schedule.Boundary {
    let boundaries = moment <= now ? schedule : remaining
    return boundaries.last { $0.from <= moment } ?? boundaries[0]
  }

  /// Whether nothing is left of the account at `moment`, as far as is known.
  package var isErasedThen: Bool { (erased ?? erases).map { $0 <= moment } ?? false }

  /// The boundaries that were in force, followed by those of the schedule. Neighbours differ in
  /// more than their start.
  var timeline: [Schedule.Boundary] {
    let steps = held.map(\.beginning) + remaining
    return steps.indices.filter { $0 == 0 || !steps[$0].holdsAs(steps[$0 - 1]) }.map { steps[$0] }
  }
}

extension Schedule {
  /// The boundaries from the end of `held` on. If the account had a plan and has none, the reason
  /// is that it lapsed, although nothing is left that owed the plan.
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
