internal import Accounts
package import Base
internal import Crypto
internal import Endpoints
internal import HTTPMessages
internal import HTTPServer
internal import HTTPSignatures
internal import JSON
import Objects
internal import Requests
internal import Simulation
package import Storage
package import Sync
package import TestDevices
package import TestEngines
internal import Tiers

/// The sync API over a scratch database, without sockets. The test moves its clock and its sweep, and can
/// crash it and start it again.
package final class TreeServer: Sendable {
  private let running: Locked<Running>
  private let time: Locked<Instant>
  private let billing: Database
  private let scratch: ScratchDatabase
  private let catalogue: Catalogue
  private let limits: SyncLimits

  /// The parts that a crash ends.
  private struct Running {
    let database: Database
    let sweeper: Sweeper
    let trees: TreeUpkeep
    let pool: WorkPool
    let server: DirectServer

    func stop() {
      pool.stop()
      database.close()
    }
  }

  private static let authority = "sync.test"

  /// Only the cap and the number of records are limited.
  package init(
    _ engine: TestEngine, freeByteCount: Int64 = 1_000_000_000, recordCountMax: Int64 = 1_000_000
  ) throws {
    scratch = try ScratchDatabase(engine, with: .schemas)
    catalogue = try Catalogue(
      version: "test", free: Plan(id: "free", title: "Free", byteCount: freeByteCount), paid: [])
    var limits = SyncLimits()
    limits.recordCountMax = recordCountMax
    limits.openInvitationCountMax = 1_000_000
    limits.invitationsPerDay = 1_000_000
    limits.receivedInvitationCountMax = 1_000_000
    limits.requestBurst = 1_000_000_000
    limits.requestsPerSecond = 1_000_000
    self.limits = limits
    time = Locked(Instant(seconds: 1_790_000_000))
    running = Locked(try Self.start(scratch, catalogue, limits, time))
    billing = try Database.open(scratch.location, owning: .billing)
  }

  private static func start(
    _ scratch: ScratchDatabase, _ catalogue: Catalogue, _ limits: SyncLimits,
    _ time: Locked<Instant>
  ) throws -> Running {
    let database = try Database.open(scratch.location, owning: .sync)
    try History.establish(database)
    let objects = try DirectoryStore(directory: scratch.directory.path + "/objects")
    let pool = WorkPool(threads: 2, capacity: 64)
    let clock = Clock { time.withLock { $0 } }
    let api = SyncAPI(
      database: database, objects: objects, pool: pool,
      authenticator: Authenticator(
        policy: SignaturePolicy(authorities: [authority]), clock: clock),
      catalogue: catalogue, limits: limits, clock: clock, protocols: [FileTrees.self])
    return Running(
      database: database, sweeper: Sweeper(api.host, api.protocols), trees: TreeUpkeep(api.host),
      pool: pool,
      server: DirectServer(api.routes, authority: authority) { error, head in
        Endpoints.problem(for: error, head)
      })
  }

  deinit {
    running.withLock { $0.stop() }
    billing.close()
  }

  package var database: Database { running.withLock { $0.database } }
  package var sweeper: Sweeper { running.withLock { $0.sweeper } }
  package var trees: TreeUpkeep { running.withLock { $0.trees } }

  /// Crashes the process: committed data stays, everything else is gone.
  package func crash() throws {
    try running.withLock { running in
      running.stop()
      running = try Self.start(scratch, catalogue, limits, time)
    }
  }

  package var now: Instant { time.withLock { $0 } }

  /// In either direction, because clocks are also set back.
  package func advance(_ span: Instant.Span) { time.withLock { $0 = $0 + span } }

  /// A device with a key that no account knows yet.
  package func device(root: Identifier = Random.identifier()) -> TestDevice {
    let (time, running) = (time, running)
    return TestDevice(
      authority: Self.authority, root: root, now: { time.withLock { $0 } },
      through: { request in
        let server = running.withLock { $0.server }
        let response = try server.answer(
          request.method, request.target, headers: request.headers, body: request.body)
        return Answer(
          status: response.status, headers: Headers(response.headers), body: response.bytes)
      })
  }

  /// A device with its own account.
  package func register(root: Identifier = Random.identifier()) throws -> TestDevice {
    let device = device(root: root)
    let answer = try device.post("/v1/accounts", ["root": .string(device.root.description)])
    guard answer.status == 201 else { throw UnexpectedAnswer(answer) }
    return device
  }

  /// An additional device of an account.
  package func add(to first: TestDevice) throws -> TestDevice {
    let device = device(root: first.root)
    let answer = try first.admit(device, label: "second")
    guard answer.status == 201 else { throw UnexpectedAnswer(answer) }
    return device
  }

  /// Sets an account's cap, as coffer-billing would.
  package func setCap(_ account: Identifier, _ byteCount: Int64) throws {
    try billing.write(for: account) { transaction in
      try transaction.execute(
        "DELETE FROM billing.entitlements WHERE account_id = $1", .id(account))
      try transaction.execute(
        """
        INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason)
        VALUES ($1, 0, $2, 'free', 'subscribed')
        """, .id(account), .integer(byteCount))
    }
  }
}
