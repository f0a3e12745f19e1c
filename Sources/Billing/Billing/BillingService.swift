package import Base
package import Crypto
internal import Endpoints
internal import HTTPMessages
package import HTTPServer
package import HTTPSignatures
package import Jobs
package import Ledger
package import Storage
package import Stores
package import Subscriptions

/// Everything that `coffer-billing` serves, and what it does by itself.
package struct BillingService: Sendable {
  private let database: Database
  private let ledger: Ledger
  private let sealing: SealingKeys
  private let clock: Clock
  private let stores: StoreList
  /// What a client's signature must satisfy to claim a purchase; nil where none can.
  private let claims: SignaturePolicy?
  private let forgeries: AddressBudget
  /// Makes what is personal findable; nil where none of it is to be found.
  private let search: SearchKey?
  private let logsDeliveries: Bool
  /// What was refused: to be written down every second, and once before the end.
  package let refusals: RefusalNotes

  /// `trustsProxies` where clients' addresses are those that proxies tell, `logsDeliveries` where each
  /// delivery has a line in the log.
  package init(
    database: Database, rules: LedgerRules, sealing: SealingKeys, clock: Clock,
    stores: StoreList, claims: SignaturePolicy? = nil, trustsProxies: Bool = false,
    search: SearchKey? = nil, logsDeliveries: Bool = false
  ) {
    self.database = database
    ledger = Ledger(
      stores: stores, rules: rules,
      readable: Set(stores.filter { $0.isReadable }.map { $0.provider }))
    self.sealing = sealing
    self.clock = clock
    self.stores = stores
    self.claims = claims
    forgeries = AddressBudget.refusals(trustsProxies: trustsProxies)
    // There from the start, as 0: what appears only once it happened, no rule sees happen.
    _ = BillingMetrics.shared
    self.search = search
    self.logsDeliveries = logsDeliveries
    refusals = RefusalNotes(database)
  }

  /// A provider that is off keeps its place, says so to whoever calls, and once in the log.
  package func routes() -> [Route] {
    let claim = claims.map { policy in
      ClaimRoute(
        ledger: ledger, stores: stores, policy: policy, sealing: sealing, search: search,
        clock: clock, forgeries: forgeries, logsDeliveries: logsDeliveries
      ).route(on: database)
    }
    let deliveries = DeliveryQueue(ledger: ledger, database: database)
    return stores.map { store in
      guard let webhook = store.webhook else {
        Log.info("billing.provider_off", ["provider": store.provider.rawValue])
        return AbsentProvider.route(store.provider)
      }
      return WebhookRoute(
        store: store, webhook: webhook, deliveries: deliveries, sealing: sealing, search: search,
        clock: clock, forgeries: forgeries, refusals: refusals, logsDeliveries: logsDeliveries
      ).route
    }.map(\.uncached) + [claim].compactMap { $0?.uncached }
  }

  /// What reads from the providers in the background; start it after the server, stop it before
  /// the database is closed.
  package func jobs() -> JobRunner {
    JobRunner(database: database, clock: clock, handlers: jobHandlers)
  }

  package var jobHandlers: [JobHandler] {
    let reads = StoreReads(
      ledger: ledger, sealing: sealing, search: search, clock: clock, stores: stores,
      database: database, logsDeliveries: logsDeliveries)
    let renewals = RenewalChecks(ledger: ledger, clock: clock)
    return reads.handlers + [renewals.handler] + Acknowledgements(reads: reads).handlers
  }

  /// Has a subscription or purchase read again, as if something had been told of it.
  package func reread(_ key: ObjectKey, in transaction: Transaction) throws {
    _ = try ledger.read(key, at: clock.now(), in: transaction)
  }

  /// How many failed reads one transaction forgets.
  private static let sliceCountMax = 200

  /// Puts the configured rules in force and brings everything derived under others up to them.
  ///
  /// Call at start, before serving; blocks until done. Returns how many subscriptions it derived.
  /// Says whom the catalogue leaves with a plan that it does not list.
  @discardableResult
  package func applyRules() throws -> Int {
    let ledger = ledger
    let begin = clock.now()
    try database.write(for: nil) { try ledger.takeForce(at: begin, in: $0) }
    try forgetUnreadable()
    let total = try ledger.deriveAnew(on: database, clock: clock) { _, alarms in
      BillingMetrics.shared.count(alarms)
    }
    let now = clock.now()
    let unmapped = try database.read { try UnmappedProducts.owed(at: now, reading: $0) }
    BillingMetrics.shared.tell(unmapped)
    return total
  }

  private func forgetUnreadable() throws {
    let ledger = ledger
    var last: String? = ""
    while let after = last {
      let now = clock.now()
      last = try database.write(for: nil) { transaction in
        try ledger.forgetUnreadable(
          after: after, countMax: Self.sliceCountMax, at: now, in: transaction)
      }
    }
  }
}

extension Route {
  /// Nothing that it answers may be kept: a signed request has no Authorization field, so caches that
  /// are shared could (RFC 9111, section 3.5).
  fileprivate var uncached: Route {
    Route(method, pattern) { head, captures in
      head.answerFields.set("Cache-Control", "private, no-store")
      return try admit(head, captures)
    }
  }
}
