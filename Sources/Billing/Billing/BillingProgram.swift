import Base
package import Configuration
import Endpoints
import HTTPServer
import HTTPSignatures
import Jobs
import KnownStores
import Ledger
import ProviderAPI
import Storage
import Stores

/// Builds and runs `coffer-billing` from its configuration.
package enum BillingProgram {
  /// Serves until a signal stops it.
  package static func run(_ configuration: BillingConfiguration) throws {
    let clock = configuration.clock
    let stores = try StoreList(
      configuration.stores,
      transport: { CircuitBreaker(CurlTransport(), provider: $0, clock: clock) }, clock: clock)
    let database = try Database.open(configuration.database, owning: .billing)
    defer { database.close() }
    let catalogue = try database.write(for: nil) { transaction in
      try CatalogueOfRecord.establish(configuration.catalogue, at: clock.now(), in: transaction)
    }
    let service = BillingService(
      database: database, rules: LedgerRules(configuration, catalogue),
      sealing: configuration.sealingKeys,
      clock: clock, stores: stores,
      clients: configuration.authorities.map { SignaturePolicy(authorities: Set($0)) },
      restoring: configuration.restorePolicy, refundAnswers: configuration.refundAnswers,
      reconciling: configuration.reconciliationInterval, deleting: configuration.deletionPolicy,
      telling: configuration.noticeReceiver.map { ($0, CurlTransport()) },
      trustsProxies: !configuration.trustedProxies.isEmpty,
      instanceCount: configuration.instanceCount,
      search: configuration.searchKey,
      logsDeliveries: true)
    try service.applyRules()
    try service.beginRounds()
    let server = HTTPServer(
      listen: configuration.listen,
      routes: service.routes() + [Health.alive, Health.ready(database)],
      limits: ServerLimits(
        connectionsPerAddressMax: configuration.connectionsPerAddressMax,
        descriptorCount: Descriptors.raiseLimit()), trustedProxies: configuration.trustedProxies,
      pages: WebPages(origins: configuration.origins), name: "billing", problem: problem)
    let attention = AttentionMetrics.shared.watch(database, stores, clock)
    defer { attention.stop() }
    let jobs = service.jobs()
    jobs.start()
    defer { jobs.stop() }
    let rules = Periodic("rules", every: 60) { try service.followRules() }
    defer { rules.stop() }
    let refusals = Periodic("refusals", every: 1, service.refusals.write)
    defer {
      refusals.stop()
      do { try service.refusals.write() } catch {
        Log.warning("billing.refusals_lost", ["reason": "\(error)"])
      }
    }
    try Daemon(
      "coffer-billing",
      [server, Health.monitor(configuration.metrics.address, token: configuration.metrics.token)]
    )
    .run(environment: Launch.environment())
  }
}
