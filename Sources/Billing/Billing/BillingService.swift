package import Base
package import Configuration
package import Crypto
import Endpoints
package import Flows
import HTTPMessages
package import HTTPServer
package import HTTPSignatures
package import Jobs
package import Ledger
import OpenAPI
import Orders
package import ProviderAPI
import Requests
package import Storage
package import Stores
package import Subscriptions

/// Everything that `coffer-billing` serves, and its background work.
package struct BillingService: Sendable {
  private let database: Database
  private let ledger: Ledger
  private let sealing: SealingKeys
  private let clock: Clock
  private let stores: StoreList
  /// The gate for clients' requests; nil if none are served.
  private let gate: RequestGate?
  private let restoring: RestorePolicy
  private let refundAnswers: RefundAnswers
  private let deletionPolicy: DeletionPolicy
  /// The time from one reconciliation of a store to the next; nil: only when an operator begins one.
  private let reconciliationInterval: Instant.Span?
  /// The receiver of notices and the transport to it; nil: none.
  private let notices: (receiver: WebhookReceiver, transport: any ProviderTransport)?
  private let forgeries: AddressBudget
  /// Makes personal data findable; nil if none of it may be found.
  private let search: SearchKey?
  private let logsDeliveries: Bool
  /// Refused deliveries, to be written every second, and once before the end.
  package let refusals: RefusalNotes

  /// The requests that an account may make at once, and per second after that, over all instances.
  private static let requestBurst: Int64 = 200
  private static let requestsPerSecond: Int64 = 5

  /// `clients` is the policy for clients' signatures; nil if no client is served. `trustsProxies`: clients'
  /// addresses are those that proxies report. `logsDeliveries`: each delivery has a line in the log.
  package init(
    database: Database, rules: LedgerRules, sealing: SealingKeys, clock: Clock,
    stores: StoreList, clients: SignaturePolicy? = nil, restoring: RestorePolicy = .refuse,
    refundAnswers: RefundAnswers = .off, reconciling interval: Instant.Span? = nil,
    deleting deletionPolicy: DeletionPolicy = .periodEnd,
    telling notices: (receiver: WebhookReceiver, transport: any ProviderTransport)? = nil,
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
    // The counters exist from the start: an alert cannot see the first increase of one that appears with it.
    _ = BillingMetrics.shared
    self.search = search
    self.logsDeliveries = logsDeliveries
    refusals = RefusalNotes(database)
  }

  /// A provider that is off keeps its route, which answers that it is off. It is logged once.
  package func routes() -> [Route] {
    let clientRoutes = gate.map { gate -> [Route] in
      [
        ClaimRoute(
          ledger: ledger, stores: stores, gate: gate, sealing: sealing, search: search,
          restoring: restoring, forgeries: forgeries, logsDeliveries: logsDeliveries
        ).route(on: database),
        PutRefundConsent(gate: gate).route(on: database),
      ] + AccountDocument.all(ledger: ledger, gate: gate).map { $0.route(on: database) }
        + flows.routes(on: database, through: gate, sealing: sealing)
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

  /// The background work. Start it after the server, and stop it before the database is closed.
  package func jobs() -> JobRunner {
    JobRunner(database: database, clock: clock, handlers: jobHandlers)
  }

  package var jobHandlers: [JobHandler] {
    let access = StoreAccess(database: database, ledger: ledger, sealing: sealing, clock: clock)
    let reads = StoreReads(access: access, search: search, logsDeliveries: logsDeliveries)
    let senders = notices.map { notices in
      NoticeSender(
        receiver: notices.receiver, ledger: ledger, database: database, clock: clock,
        transport: notices.transport)
    }
    let questions = RefundQuestions(reads: reads, policy: refundAnswers)
    let reconciler = Reconciler(reads: reads, interval: reconciliationInterval)
    return reads.handlers
      + [
        ledger.renewalHandler(clock), FlowRunner(access).handler, OrderRunner(access).handler,
        questions.handler, reconciler.handler,
        LeavingAccounts(reads: reads, policy: deletionPolicy).handler, ledger.deriveHandler(clock),
      ]
      + Acknowledgements(reads: reads).handlers + [senders].compactMap { $0?.handler }
  }

  /// The billing operations that accounts ask for.
  package var flows: Flows {
    Flows(ledger: ledger, stores: stores)
  }

  /// Requests a new read of a subscription or purchase, as if something had been reported about it.
  package func reread(_ key: ObjectKey, in transaction: Transaction) throws {
    _ = try ledger.read(key, at: clock.now(), in: transaction)
  }

  /// The most failed reads that one transaction forgets.
  private static let sliceCountMax = 200

  /// Puts the configured rules into force, and derives everything anew that was derived under other rules. Call
  /// at start, before serving; blocks until done. Returns how many subscriptions it derived.
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

  /// Finishes a change of rules that others left unfinished. Without work it costs one read.
  @discardableResult
  package func followRules() throws -> Int {
    try ledger.followRules(on: database, clock: clock) { BillingMetrics.shared.count($0) }
  }

  /// Requests the reconciliations, and the search for accounts that are being deleted. Call at start.
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

  /// Stores whether apps get notices, for all changes from now on.
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
  /// Forbids caching of all answers. A signed request has no Authorization field, so shared caches
  /// could store them (RFC 9111, section 3.5).
  fileprivate var uncached: Route {
    Route(method, pattern) { head, captures in
      head.answerFields.set("Cache-Control", "private, no-store")
      return try admit(head, captures)
    }
  }
}
