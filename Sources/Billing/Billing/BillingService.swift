internal import HTTPMessages
internal import JSON
package import Base
package import Configuration
package import Crypto
internal import Endpoints
package import Flows
package import HTTPServer
package import HTTPSignatures
package import Jobs
package import Ledger
internal import Orders
internal import OpenAPI
internal import Requests
package import ProviderAPI
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
  /// Where clients come in; nil where none can.
  private let gate: RequestGate?
  private let restoring: RestorePolicy
  private let refundAnswers: RefundAnswers
  private let deletionPolicy: DeletionPolicy
  /// From one reconciliation of a store to the next; nil: only when an operator begins one.
  private let reconciliationInterval: Instant.Span?
  /// Who is told of changes, and the way there; nil: nobody.
  private let notices: (receiver: NoticeReceiver, transport: any ProviderTransport)?
  private let forgeries: AddressBudget
  /// Makes what is personal findable; nil where none of it is to be found.
  private let search: SearchKey?
  private let logsDeliveries: Bool
  /// What was refused: to be written down every second, and once before the end.
  package let refusals: RefusalNotes

  /// Requests that an account may make at once, and a second from then on, of all instances.
  private static let requestBurst: Int64 = 200
  private static let requestsPerSecond: Int64 = 5

  /// `clients` is what a client's signature must satisfy; nil where no client is served.
  /// `trustsProxies` where clients' addresses are those that proxies tell, `logsDeliveries` where each
  /// delivery has a line in the log.
  package init(
    database: Database, rules: LedgerRules, sealing: SealingKeys, clock: Clock,
    stores: StoreList, clients: SignaturePolicy? = nil, restoring: RestorePolicy = .refuse,
    refundAnswers: RefundAnswers = .off, reconciling interval: Instant.Span? = nil,
    deleting deletionPolicy: DeletionPolicy = .periodEnd,
    telling notices: (receiver: NoticeReceiver, transport: any ProviderTransport)? = nil,
    trustsProxies: Bool = false, instanceCount: Int64 = 1,
    search: SearchKey? = nil, logsDeliveries: Bool = false
  ) {
    self.database = database
    ledger = Ledger(
      stores: stores, rules: rules,
      readable: Set(stores.filter { $0.isReadable }.map { $0.provider }),
      tellsApps: notices != nil)
    self.sealing = sealing
    self.clock = clock
    self.stores = stores
    let forgeries = AddressBudget.refusals(trustsProxies: trustsProxies)
    self.forgeries = forgeries
    self.restoring = restoring
    self.refundAnswers = refundAnswers
    self.deletionPolicy = deletionPolicy
    reconciliationInterval = interval
    self.notices = notices
    gate = clients.map { policy in
      RequestGate(
        authenticator: Authenticator(policy: policy, clock: clock),
        limiter: RequestLimiter(
          burst: max(1, Self.requestBurst / instanceCount),
          perSecond: max(1, Self.requestsPerSecond / instanceCount), now: MonotonicTime.now),
        refusals: forgeries, clock: clock)
    }
    // There from the start, as 0: what appears only once it happened, no rule sees happen.
    _ = BillingMetrics.shared
    self.search = search
    self.logsDeliveries = logsDeliveries
    refusals = RefusalNotes(database)
  }

  /// A provider that is off keeps its place, says so to whoever calls, and once in the log.
  package func routes() -> [Route] {
    let clientRoutes = gate.map { gate in
      [
        ClaimRoute(
          ledger: ledger, stores: stores, gate: gate, sealing: sealing, search: search,
          restoring: restoring, forgeries: forgeries, logsDeliveries: logsDeliveries
        ).route(on: database),
        GetSubscription(ledger: ledger, gate: gate).route(on: database),
        GetPayments(ledger: ledger, gate: gate).route(on: database),
        GetRefundConsent(gate: gate).route(on: database),
        PutRefundConsent(gate: gate).route(on: database),
      ] + flows.routes(on: database, through: gate, sealing: sealing)
    }
    let documents = [
      GetPlans(ledger: ledger).route(on: database),
      PublicDocument.route("/openapi.json", OpenAPI.billing, freshSeconds: 3600),
    ]
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
    }.map(\.uncached) + (clientRoutes ?? []) + documents
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
    let runner = FlowRunner(
      database: database, ledger: ledger, stores: stores, sealing: sealing, clock: clock)
    let senders = notices.map { notices in
      NoticeSender(
        receiver: notices.receiver, ledger: ledger, database: database, clock: clock,
        transport: notices.transport)
    }
    let orders = OrderRunner(
      database: database, ledger: ledger, stores: stores, sealing: sealing, clock: clock)
    let questions = RefundQuestions(reads: reads, policy: refundAnswers)
    let reconciler = Reconciler(reads: reads, interval: reconciliationInterval)
    return reads.handlers
      + [renewals.handler, runner.handler, orders.handler, questions.handler, reconciler.handler]
      + [
        LeavingAccounts(reads: reads, policy: deletionPolicy).handler, ledger.deriveHandler(clock),
      ]
      + Acknowledgements(reads: reads).handlers + [senders].compactMap { $0?.handler }
  }

  /// What accounts ask a store to do.
  package var flows: Flows {
    Flows(ledger: ledger, stores: stores)
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
    try forgetUnanswered()
    try settleReceiver()
    let total = try ledger.deriveAnew(on: database, clock: clock) { _, alarms in
      BillingMetrics.shared.count(alarms)
    }
    let now = clock.now()
    let unmapped = try database.read { try UnmappedProducts.owed(at: now, reading: $0) }
    BillingMetrics.shared.tell(unmapped)
    return total
  }

  /// Finishes what others left of a change of rules. Call once a minute; nothing to do costs one read.
  @discardableResult
  package func followRules() throws -> Int {
    try ledger.followRules(on: database, clock: clock) { BillingMetrics.shared.count($0) }
  }

  /// Has every store that can be asked reconciled when that is due, and accounts noticed that are to be
  /// gone. Call at start.
  package func beginRounds() throws {
    let now = clock.now()
    let providers = stores.filter { $0.isReadable }.map { $0.provider }
    try database.write(for: nil) { transaction in
      try Jobs.request(LeavingAccount.job, LeavingAccount.finder, due: now, in: transaction)
      for provider in providers {
        try Reconciliation.request(of: provider, at: now, in: transaction)
      }
    }
  }

  /// Whoever changes something from now on knows whether apps are told of it.
  private func settleReceiver() throws {
    if let receiver = notices?.receiver {
      try database.write(for: nil) { try Notices.establish(receiver.urlDigest, in: $0) }
    } else {
      while try database.write(for: nil, { try Notices.end(limit: Self.sliceCountMax, in: $0) }) {}
    }
  }

  private func forgetUnanswered() throws {
    let ledger = ledger
    var last: String? = ""
    while let after = last {
      let now = clock.now()
      last = try database.write(for: nil) { transaction in
        try ledger.forgetUnanswered(
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
