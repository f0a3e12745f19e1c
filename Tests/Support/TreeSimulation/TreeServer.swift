package import Accounts
package import Base
import Crypto
import Endpoints
package import HTTPMessages
import HTTPServer
import HTTPSignatures
import JSON
package import Objects
import Requests
package import Simulation
package import Storage
package import Sync
package import TestDevices
package import TestEngines
package import Tiers

/// The sync API over a scratch database, without sockets. The test moves its clock and its sweep, and can
/// crash it and start it again.
package final class TreeServer: Sendable {
  private let running: Locked<Running>
  private let time: Locked<Instant>
  private let setup: Setup

  /// What a crash leaves.
  private struct Setup {
    let scratch: ScratchDatabase
    let catalogue: Catalogue
    let limits: SyncLimits
    let protocols: [any ProtocolRoom.Type]
    let objects: @Sendable (_ directory: String) throws -> any ObjectStore
    /// The current time; programs ask for it within most of their steps.
    let now: @Sendable () -> Instant
  }

  /// The parts that a crash ends.
  private struct Running {
    let database: Database
    let billing: Database
    let api: SyncAPI
    let sweeper: Sweeper
    let trees: TreeUpkeep
    let pool: WorkPool
    let server: DirectServer

    func stop() {
      pool.stop()
      database.close()
      billing.close()
    }
  }

  private static let authority = "sync.test"

  /// Only the cap and the number of records are limited, and what `plans` say. `objects` opens the store of each
  /// start; `onTick` is called whenever the programs ask for the time.
  package init(
    _ engine: TestEngine, freeByteCount: Int64 = 1_000_000_000, recordCountMax: Int64 = 1_000_000,
    plans: [Plan] = [], formerPlanDays: Int64 = Catalogue.formerPlanDaysUsual,
    protocols: [any ProtocolRoom.Type] = [FileTrees.self],
    onTick: @escaping @Sendable () -> Void = {},
    objects: @escaping @Sendable (_ directory: String) throws -> any ObjectStore = {
      try DirectoryStore(directory: $0)
    }
  ) throws {
    var limits = SyncLimits()
    limits.recordCountMax = recordCountMax
    limits.openInvitationCountMax = 1_000_000
    limits.invitationsPerDay = 1_000_000
    limits.receivedInvitationCountMax = 1_000_000
    limits.requestBurst = 1_000_000_000
    limits.requestsPerSecond = 1_000_000
    let time = Locked(Instant(seconds: 1_790_000_000))
    self.time = time
    setup = Setup(
      scratch: try ScratchDatabase(engine, with: .schemas),
      catalogue: try Catalogue(
        version: "test", free: Plan(id: "free", title: "Free", byteCount: freeByteCount),
        paid: plans, formerPlanDays: formerPlanDays),
      limits: limits, protocols: protocols, objects: objects,
      now: {
        onTick()
        return time.withLock { $0 }
      })
    running = Locked(try Self.start(setup))
  }

  private static func start(_ setup: Setup) throws -> Running {
    let database = try Database.open(setup.scratch.location, owning: .sync)
    try History.establish(database)
    let objects = try setup.objects(setup.scratch.directory.path + "/objects")
    let pool = WorkPool(threads: 2, capacity: 64)
    let clock = Clock(setup.now)
    let api = SyncAPI(
      database: database, objects: objects, pool: pool,
      authenticator: Authenticator(
        policy: SignaturePolicy(authorities: [authority]), clock: clock),
      catalogue: setup.catalogue, limits: setup.limits, clock: clock,
      protocols: setup.protocols)
    return Running(
      database: database, billing: try Database.open(setup.scratch.location, owning: .billing),
      api: api, sweeper: Sweeper(api.host, api.protocols, upkeep: api.upkeep),
      trees: TreeUpkeep(api.host), pool: pool,
      server: DirectServer(api.routes, authority: authority) { error, head in
        Endpoints.problem(for: error, head)
      })
  }

  deinit { running.withLock { $0.stop() } }

  /// The folder with database and objects.
  package var directory: String { setup.scratch.directory.path }
  package var catalogue: Catalogue { setup.catalogue }
  package var database: Database { running.withLock { $0.database } }
  package var sweeper: Sweeper { running.withLock { $0.sweeper } }
  package var trees: TreeUpkeep { running.withLock { $0.trees } }
  /// The work that the program repeats for its protocols.
  package var upkeep: [Upkeep] { running.withLock { $0.api.upkeep } }

  /// Crashes the process: committed data stays, everything else is gone. `meanwhile` runs before the next start.
  package func crash(_ meanwhile: () throws -> Void = {}) throws {
    try running.withLock { running in
      running.stop()
      try meanwhile()
      running = try Self.start(setup)
    }
  }

  /// Waits for the work that earlier requests of these accounts have left to threads.
  package func settle(_ accounts: [Identifier]) throws {
    let running = running.withLock { $0 }
    for account in accounts {
      _ = try Step<Void>.pending { done in
        if !running.pool.submit(for: account, { done(.success(())) }) { done(.success(())) }
      }.outcome()
    }
    try running.database.write(for: nil) { _ in }
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
        return try Answer(response)
      })
  }

  /// Begins a request whose body the test sends in pieces.
  package func begin(_ request: TestDevice.Signed) throws -> DirectExchange {
    try running.withLock { $0.server }.begin(
      request.method, request.target, headers: request.headers, bodyByteCount: request.body.count)
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

  /// Notes that an account had a plan until now, as coffer-billing would.
  package func endPlan(_ plan: String, of account: Identifier, since: Instant) throws {
    let now = now
    try running.withLock { $0.billing }.write(for: account) { transaction in
      try transaction.execute(
        """
        INSERT INTO billing.held (account_id, from_ms, to_ms, cap_bytes, plan, reason)
        VALUES ($1, $2, $3, 0, $4, 'subscribed')
        """, .id(account), .instant(since), .instant(now), .text(plan))
    }
  }

  /// Sets an account's cap, as coffer-billing would.
  package func setCap(_ account: Identifier, _ byteCount: Int64, plan: String = "free") throws {
    try running.withLock { $0.billing }.write(for: account) { transaction in
      try transaction.execute(
        "DELETE FROM billing.entitlements WHERE account_id = $1", .id(account))
      try transaction.execute(
        """
        INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason)
        VALUES ($1, 0, $2, $3, 'subscribed')
        """, .id(account), .integer(byteCount), .text(plan))
    }
  }
}

extension Answer {
  /// Throws if the body is fetched, and bytes of it are not to be had: the connection ends before the answer does.
  package init(_ response: Response) throws {
    var bytes: [UInt8]
    if case .blocks(let source, let range) = response.body {
      bytes = try source.bytes(in: range)
    } else {
      bytes = response.bytes
    }
    self.init(status: response.status, headers: Headers(response.headers), body: bytes)
  }
}
