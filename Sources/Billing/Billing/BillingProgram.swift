internal import Base
package import Configuration
internal import Endpoints
internal import HTTPServer
internal import Storage

/// `coffer-billing`, put together from its configuration.
package enum BillingProgram {
  /// Serves until a signal says stop.
  package static func run(_ configuration: BillingConfiguration) throws {
    let database = try Database.open(configuration.database, owning: .billing)
    defer { database.close() }
    let pool = WorkPool(threads: 1, capacity: 16)
    defer { pool.stop() }
    let service = BillingService(configuration, database: database)
    try service.applyRules()
    let server = HTTPServer(
      listen: configuration.listen,
      routes: service.routes() + [Health.alive, Health.ready(database, pool: pool)],
      limits: ServerLimits(), trustedProxies: configuration.trustedProxies, name: "billing",
      problem: problem)
    try Daemon("coffer-billing", [server, Health.monitor(configuration.metricsListen)]).run()
  }
}
