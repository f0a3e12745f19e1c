import Base
import Crypto
import HTTPClient
import HTTPMessages
import HTTPServer
import LocalServer
import HTTPSignatures
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Tiers

/// The sync API over a socket and a scratch database, its clock and its sweep moved by the test.
final class TreeServer: Sendable {
  let database: Database
  let sweeper: Sweeper
  private let time = Locked(Instant(seconds: 1_790_000_000))
  private let billing: Database
  private let server: HTTPServer
  private let pool: WorkPool
  private let scratch: ScratchDatabase

  private static let authority = "sync.test"

  /// Nothing but the cap and the number of records is scarce.
  init(
    _ engine: TestEngine, freeByteCount: Int64 = 1_000_000_000, recordCountMax: Int64 = 1_000_000
  ) throws {
    scratch = try ScratchDatabase(engine)
    database = try Database.open(scratch.location, owning: .sync)
    billing = try Database.open(scratch.location, owning: .billing)
    try History.establish(database)
    let objects = try ObjectStore(directory: scratch.directory.path + "/objects")
    pool = WorkPool(threads: 2, capacity: 64)
    let catalogue = try Catalogue(
      version: "test", free: Plan(id: "free", title: "Free", byteCount: freeByteCount), paid: [])
    var limits = SyncLimits()
    limits.recordCountMax = recordCountMax
    limits.openInvitationCountMax = 1_000_000
    limits.invitationsPerDay = 1_000_000
    limits.receivedInvitationCountMax = 1_000_000
    limits.requestBurst = 1_000_000_000
    limits.requestsPerSecond = 1_000_000
    let time = time
    let clock = Clock { time.withLock { $0 } }
    let api = SyncAPI(
      database: database, objects: objects, pool: pool,
      authenticator: Authenticator(
        policy: SignaturePolicy(authorities: [Self.authority]), clock: clock),
      catalogue: catalogue, limits: limits, clock: clock)
    sweeper = Sweeper(database, objects, catalogue: catalogue, limits: limits, clock: clock)
    server = try startServer(api.routes, name: "sync-test") { error, head in
      api.problem(for: error, head)
    }
  }

  deinit {
    server.drain(within: .seconds(2))
    pool.stop()
    billing.close()
    database.close()
  }

  /// Either way: clocks are set back, too.
  func advance(_ span: Instant.Span) { time.withLock { $0 = $0 + span } }

  /// A device with a key that no account knows yet.
  func device(root: Identifier = Random.identifier()) -> TestDevice {
    let time = time
    return TestDevice(port: server.port, authority: Self.authority, root: root) {
      time.withLock { $0 }
    }
  }

  /// A device with an account of its own.
  func register(root: Identifier = Random.identifier()) throws -> TestDevice {
    let device = device(root: root)
    let answer = try device.post("/v1/accounts", ["root": .string(device.root.description)])
    guard answer.status == 201 else { throw UnexpectedAnswer(answer) }
    return device
  }

  /// A further device of an account.
  func add(to first: TestDevice) throws -> TestDevice {
    let device = device(root: first.root)
    let answer = try first.admit(device, label: "second")
    guard answer.status == 201 else { throw UnexpectedAnswer(answer) }
    return device
  }

  /// As coffer-billing would.
  func setCap(_ account: Identifier, _ byteCount: Int64) throws {
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
