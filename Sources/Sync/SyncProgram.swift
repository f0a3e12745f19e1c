package import Accounts
import Base
package import Configuration
import Endpoints
import HTTPServer
import HTTPSignatures
import Objects
import ProviderAPI
import Requests
import S3
import Storage
import Streams
import WakeUps

/// Builds and runs `coffer-sync` from its configuration.
package enum SyncProgram {
  /// Threads that make large content durable, and the number of uploads that may wait for them.
  private static let ioThreadCount = 4
  private static let ioQueueCountMax = 256
  /// Threads that wait for a network instead of a disk.
  private static let distantThreadCount = 16
  private static let sweepSeconds: Int64 = 30

  /// A store that refuses this program is a mistake in the settings, which a restart would not mend.
  private static func opened(
    _ configuration: SyncConfiguration, isFirst: Bool
  ) throws -> any ObjectStore {
    do throws(ObjectStoreError) {
      return try ObjectStores.serve(
        configuration.objects, isFirst: isFirst, givesLinks: configuration.isDirect)
    } catch {
      guard case .misconfigured(let reason) = error else { throw error }
      throw ConfigurationError([.init(.invalid, "\(SyncSettings.objects.name): \(reason)")])
    }
  }

  /// Files that cannot be served are a mistake in the settings, too.
  private static func actualFiles(_ directory: String?) throws -> PublicFiles? {
    guard let directory else { return nil }
    do throws(OpenFolder.Refusal) {
      return try PublicFiles(
        directory: directory, requiring: ["index.html", "data-file-index.txt"])
    } catch {
      throw ConfigurationError([
        .init(
          .invalid, "\(SyncSettings.actualFiles.name): \(quoted(directory)) \(error.text)")
      ])
    }
  }

  /// Serves until a signal stops it.
  package static func run(
    _ configuration: SyncConfiguration, serving protocols: [any ProtocolRoom.Type]
  ) throws {
    // Before the files are opened, which stay open.
    let descriptorCountMax = Descriptors.raiseLimit()
    let actualFiles = try Self.actualFiles(configuration.actualFiles)
    let descriptorCount = descriptorCountMax - (actualFiles?.count ?? 0)
    let database = try Database.open(configuration.database, owning: .sync)
    defer { database.close() }
    let catalogue = try database.read {
      try CatalogueOfRecord.remembering(
        CatalogueOfRecord.settled(configuration.catalogue, reading: $0), reading: $0)
    }
    // Only the first start creates a store. Later, an empty directory means that its disk is not mounted.
    let isFirst = try database.read { try History.id(reading: $0) } == nil
    let objects = try opened(configuration, isFirst: isFirst)
    try History.establish(database)
    try objects.belong(to: database.read { try History.current($0).id })
    let pool = WorkPool(
      threads: configuration.objects.isDistant ? distantThreadCount : ioThreadCount,
      capacity: ioQueueCountMax)
    let limits = SyncLimits(configuration.limits)
    let api = SyncAPI(
      database: database, objects: objects, pool: pool,
      authenticator: Authenticator(
        policy: SignaturePolicy(authorities: configuration.authorities),
        clock: configuration.clock),
      catalogue: catalogue, limits: limits,
      registration: configuration.registration,
      trustsProxies: !configuration.trustedProxies.isEmpty,
      actualAuthorities: configuration.actualAuthorities, actualFiles: actualFiles,
      clock: configuration.clock, protocols: protocols)
    api.host.transfers.start()
    // Stopped after the pool, because its last uploads still count.
    defer { api.host.transfers.stop() }
    defer { pool.stop() }
    let sweeper = Sweeper(api.host, api.protocols, upkeep: api.upkeep)
    // Runs before the first request, so that no reservation of an earlier process takes up room.
    try sweeper.settleUploads()
    sweeper.start(every: sweepSeconds)
    defer { sweeper.stop() }
    var most = StreamLimits()
    most.countMax = Descriptors.streamCountMax(
      of: descriptorCount, wanted: configuration.streams.countMax)
    most.countPerAccountMax = configuration.streams.countPerAccountMax
    most.countPerAddressMax = configuration.streams.countPerAddressMax
    let streams = try Streams(
      api.host, serving: protocols, limits: most,
      trustsProxies: !configuration.trustedProxies.isEmpty)
    streams.start()
    defer { streams.stop() }
    let wakeUps = configuration.pushGateway.map { gateway in
      var limits = WakeUpLimits()
      limits.pause = configuration.pushPause
      return WakeUps(
        api.host, serving: protocols, at: gateway, through: CurlTransport(), limits: limits)
    }
    wakeUps?.start()
    defer { wakeUps?.stop() }
    let server = HTTPServer(
      listen: configuration.listen,
      routes: api.routes + [streams.route] + (wakeUps?.routes ?? []),
      limits: ServerLimits(
        connectionsPerAddressMax: configuration.connectionsPerAddressMax,
        descriptorCount: descriptorCount - most.countMax),
      trustedProxies: configuration.trustedProxies,
      pages: WebPages(
        origins: configuration.origins,
        elsewhere: .init(
          authorities: configuration.actualAuthorities, origins: configuration.actualOrigins,
          sent: "Content-Type, X-Actual-Encrypt-Meta, X-Actual-File-Id, X-Actual-Format, "
            + "X-Actual-Group-Id, X-Actual-Name, X-Actual-Password, X-Actual-Token",
          exposed: "Content-Disposition, X-Actual-Sync-Method, X-Request-Id")), name: "sync",
      problem: Endpoints.problem)
    try Daemon(
      "coffer-sync",
      [server, Health.monitor(configuration.metrics.address, token: configuration.metrics.token)]
    )
    .run(environment: Launch.environment())
  }
}
