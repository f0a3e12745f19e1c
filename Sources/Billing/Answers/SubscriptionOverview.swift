package import Base
package import Ledger
package import Storage
import Stores
package import Subscriptions
package import Tiers

/// An account's own picture of what it pays for: what applies, until when, and what is wrong. It is the
/// same for its devices and for everyone who is notified of changes.
package struct SubscriptionOverview: Sendable {
  package let account: Identifier
  package let now: Instant
  /// The boundary in force.
  package let current: Schedule.Boundary
  /// When it ends if no further events come; nil if it has no end.
  package let accessEnds: Instant?
  /// When time alone may next change any of this.
  package let nextChange: Instant?
  /// Whether the account is being deleted, so that it can buy nothing.
  package let isLeaving: Bool
  /// Whether the account never paid for or tried anything, so that it would get a trial of the catalogue.
  package let isFirstPurchase: Bool
  /// The store whose plans are bought by requests to this server; nil if there is none.
  package let seller: ObjectKey.Provider?
  /// Those that give access first; of these, the certain ones before the uncertain.
  package let subscriptions: [Subscription]

  package struct Subscription: Sendable {
    package let key: ObjectKey
    /// The store's name for people.
    package let store: String
    package let environment: StoreEnvironment
    package let label: Label
    package let willRenew: Bool
    /// The plan that it gives, or gave last; nil if nothing was ever owed.
    package let planID: String?
    /// The end of the paid period or the trial. For a subscription that is over, when it ended.
    package let validUntil: Instant?
    package let grace: Grace?
    /// The failing payment.
    package let failure: Failure?
    package let pause: Pause?
    /// Its items, by the store's ids.
    package let items: [Bill.Item]
    let nextChange: Instant?
    /// The page where its store lets customers manage it; nil if that is done here.
    package let managePage: String?
    package let isManagedHere: Bool
    /// Whether its store's page for its customer also shows purchases of another account.
    package let sharesCustomer: Bool
    /// Whether it may continue at the `seller`.
    package let mayMigrate: Bool
    /// Whether it continues by itself or can be recovered, and is no addition.
    package let preventsPurchase: Bool
  }

  package struct Grace: Sendable, Hashable {
    package let since: Instant
    package let until: Instant
  }

  package struct Failure: Sendable, Hashable {
    package let since: Instant
    /// Nil if the store does not report it.
    package let amount: Money?
    /// The invoice to pay, by its store's id; nil if none can be paid at once.
    package let invoice: ObjectKey?
  }

  /// The one that gives the current plan; otherwise, the first.
  package var main: Subscription? {
    subscriptions.first { $0.label.givesAccess && $0.planID == current.planID }
      ?? subscriptions.first
  }

  /// The most subscriptions that are shown for one account, the newest.
  private static let subscriptionCountMax: Int64 = 50

  fileprivate init(
    of account: Identifier, at now: Instant, _ ledger: Ledger, reading database: any Queryable
  ) throws {
    self.account = account
    self.now = now
    isLeaving = try LeavingAccount.isLeaving(account, reading: database)
    isFirstPurchase = try ledger.isFirstPurchase(of: account, reading: database)
    let catalogue = try ledger.catalogue(reading: database)
    seller = ledger.seller(of: catalogue)
    let stored = try EntitlementRows.schedule(of: account, reading: database)
    // Billing knows nothing of many accounts.
    let schedule = Schedule(stored: stored) ?? .free(catalogue)
    let current = schedule.entry(at: now)
    self.current = current
    accessEnds = schedule.boundaries.first {
      $0.from > now && ($0.capByteCount < current.capByteCount || !$0.reason.givesAccess)
    }.flatMap { current.reason.givesAccess ? $0.from : nil }
    let reading = ledger.reading(database)
    let keys = try database.rows(
      """
      SELECT object FROM billing.subscriptions WHERE owner = $1
      ORDER BY updated_ms DESC, object LIMIT $2
      """, .id(account), .integer(Self.subscriptionCountMax)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
    let all = try keys.compactMap { key in
      try Subscription(
        key, of: account, at: now, reading, catalogue,
        counts: { ledger.rules.grants($0.rawValue, to: account) })
    }
    nextChange =
      (schedule.boundaries.map { $0.from }.filter { $0 > now } + all.compactMap { $0.nextChange })
      .min()
    subscriptions =
      all
      .filter { $0.label != .superseded }
      .sorted { ($0.rank, $0.key) < ($1.rank, $1.key) }
  }
}

extension Ledger {
  /// The overview of an account.
  package func overview(
    of account: Identifier, at now: Instant, reading database: any Queryable
  ) throws -> SubscriptionOverview {
    try SubscriptionOverview(of: account, at: now, self, reading: database)
  }

  fileprivate func seller(of catalogue: Catalogue) -> ObjectKey.Provider? {
    guard let provider = stores.seller?.provider else { return nil }
    let isSelling = catalogue.paid.contains { plan in
      !plan.isAddition && plan.products.contains { $0.provider == provider.rawValue }
    }
    return isSelling ? provider : nil
  }
}

extension SubscriptionOverview.Subscription {
  fileprivate init?(
    _ key: ObjectKey, of account: Identifier, at now: Instant, _ reading: LedgerReading,
    _ catalogue: Catalogue, counts: (StoreEnvironment) -> Bool
  ) throws {
    guard let row = try reading.stored(key).row else { return nil }
    let traits = try reading.stores.store(of: key).traits
    let record = try reading.subscription(key).record
    let bill = record.bill
    let coverage = try Coverage(text: row.coverage)
    self.key = key
    store = traits.title
    managePage = traits.managePage
    isManagedHere = traits.isManagedHere
    sharesCustomer = try !record.companions(of: key).allSatisfy {
      try reading.isCustomer($0, onlyOf: account)
    }
    mayMigrate = reading.stores.mayMigrate(from: key.provider)
    environment = row.environment
    label = Label(coverage, withoutAccess: row.labelWithoutAccess, at: now)
    preventsPurchase =
      label.isCurrent && !coverage.isAddition(at: now, catalogue) && counts(environment)
    willRenew = row.willRenew
    nextChange = coverage.boundaries(after: now, upTo: .distantFuture).first
    let paid = coverage.intervals.filter { $0.why.isPaidFor && $0.from <= now }
    let told = coverage.entry(at: now) ?? coverage.intervals.last { $0.to <= now }
    planID = told?.planID ?? coverage.intervals.first?.planID
    validUntil = paid.map { $0.to }.max() ?? told?.to
    let grace = coverage.intervals.filter { $0.why == .grace }
    self.grace =
      grace.contains { $0.contains(now) }
      ? SubscriptionOverview.Grace(
        since: grace.map { $0.from }.min()!, until: grace.map { $0.to }.max()!) : nil
    pause = record.pause
    let failing = bill.payments.first { $0.state == .failing }
    let fails =
      label == .grace || label == .onHold || pause?.reason == .paymentFailed || failing != nil
    let isOver = label == .expired || label == .revoked
    failure =
      fails && !isOver
      ? SubscriptionOverview.Failure(
        since: failing?.at ?? grace.map { $0.from }.min() ?? validUntil ?? now,
        amount: failing?.amount,
        invoice: bill.retryable.map { key.sibling($0.object.kind, $0.object.id) }) : nil
    items = bill.items
  }

  /// The order in which subscriptions are shown.
  fileprivate var rank: Int {
    let order: [Label] = [.active, .trialing, .grace, .renewalPending, .onHold, .paused, .pending]
    return order.firstIndex(of: label) ?? order.count
  }
}
