package import Base
package import Endpoints
package import HTTPServer
package import Objects
package import Requests
package import Storage
package import Tiers

/// What coffer-sync lends to its protocols. A class, because each request copies its endpoint, which has it.
package final class ProtocolHost: Sendable {
  package let database: Database
  package let objects: any ObjectStore
  /// Runs work that may block for long: making large content durable.
  package let pool: WorkPool
  package let gate: RequestGate
  package let catalogue: Catalogue
  package let limits: SyncLimits
  package let transfers: TransferCounter
  package let clock: Clock
  /// The hosts at which clients of Actual are served; none: nowhere.
  package let actualAuthorities: Set<String>
  /// What those hosts serve of Actual's own: its web app, and the tables of a new budget.
  package let actualFiles: PublicFiles?
  package let failedLogins: FailedLogins
  package let linkLimits: LinkLimits
  /// Requests of recovery keys, by address.
  package let recoveries: AddressBudget

  package init(
    database: Database, objects: any ObjectStore, pool: WorkPool, gate: RequestGate,
    catalogue: Catalogue, limits: SyncLimits, clock: Clock, actualAuthorities: Set<String>,
    actualFiles: PublicFiles?, failedLogins: FailedLogins, linkLimits: LinkLimits,
    recoveries: AddressBudget
  ) {
    self.database = database
    self.objects = objects
    self.pool = pool
    self.gate = gate
    self.catalogue = catalogue
    self.limits = limits
    transfers = TransferCounter(database, clock: clock)
    self.clock = clock
    self.actualAuthorities = actualAuthorities
    self.actualFiles = actualFiles
    self.failedLogins = failedLogins
    self.linkLimits = linkLimits
    self.recoveries = recoveries
    // From the start on, not from the first loss on.
    _ = Download.missing
  }

  package func routes(_ endpoints: any Endpoint...) -> [Route] {
    endpoints.map { $0.route(on: database) }
  }
}
