import Accounts
import Base
import Chains
import Commits
import Configuration
import Crypto
import Documents
import Endpoints
import HTTPServer
import HTTPSignatures
import JSON
import KeyBackup
import LocalServer
import Logs
import Mailboxes
import Objects
import ProviderAPI
import PublicLinks
import PushGateway
import Requests
import Storage
import Streams
import Sync
import TestDevices
import TestEngines
import Tiers
import WakeUps

/// The sync API over a real socket and a real database, with a clock that the test moves.
final class TestServer: Sendable {
  let database: Database
  let objects: any ObjectStore
  let api: SyncAPI
  /// The routes of the program.
  let routes: [Route]
  let clock: TestClock
  let catalogue: Catalogue
  let limits: SyncLimits
  private let options: DatabaseOptions
  private let server: HTTPServer
  private let streams: Streams
  private let wakeUps: WakeUps
  private let pool: WorkPool
  private let scratch: ScratchDatabase
  private let observe: (@Sendable (TestDevice.Signed, Answer) -> Void)?

  static let authority = "sync.test"

  /// The limit on requests is high, because tests send more at once than people do. With `other` this is a
  /// second instance of the program, on the same database. Streams are served if there are limits for them,
  /// and devices are woken if there is a gateway.
  init(
    _ engine: TestEngine = .sqlite, beside other: TestServer? = nil,
    freeByteCount: Int64 = 1_000_000, freeLimits: Plan.Limits = Plan.Limits(),
    limits: SyncLimits = SyncLimits(), requestBurst: Int64 = 1_000_000,
    registration: SyncConfiguration.Registration = .open, trustedProxies: [AddressRange] = [],
    options: DatabaseOptions = DatabaseOptions(),
    paid: [Plan] = [Plan(id: "premium", title: "Premium", byteCount: 30_000_000_000)],
    formerPlanDays: Int64 = Catalogue.formerPlanDaysUsual,
    protocols: [any ProtocolRoom.Type] = [
      FileTrees.self, MessageLogs.self, ActualDoor.self, VersionedDocuments.self,
      DeviceMailboxes.self, SignatureChains.self, GroupCommits.self,
      PublishedContents.self, KeyRecovery.self,
    ],
    actualAuthorities: Set<String> = [], actualFiles: PublicFiles? = nil,
    objects: (any ObjectStore)? = nil,
    streams streamLimits: StreamLimits? = nil,
    waking gateway: PushGateway? = nil, wakeUps wakeUpLimits: WakeUpLimits = WakeUpLimits(),
    uptime: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now,
    observe: (@Sendable (TestDevice.Signed, Answer) -> Void)? = nil
  ) throws {
    var limits = limits
    limits.requestBurst = requestBurst
    self.limits = limits
    self.observe = observe
    self.options = options
    scratch = try other?.scratch ?? ScratchDatabase(engine, with: .schemas)
    clock = other?.clock ?? TestClock(Instant(seconds: 1_780_000_000))
    database = try Database.open(scratch.location, owning: .sync, options: options)
    try History.establish(database)
    self.objects =
      try objects ?? DirectoryStore(directory: scratch.directory.path + "/objects")
    pool = WorkPool(threads: 2, capacity: 64)
    catalogue = try Catalogue(
      version: "test",
      free: Plan(
        id: "free", title: "Free", byteCount: freeByteCount, limits: freeLimits),
      paid: paid, formerPlanDays: formerPlanDays)
    let reader = clock.clock
    api = SyncAPI(
      database: database, objects: self.objects, pool: pool,
      authenticator: Authenticator(
        policy: SignaturePolicy(authorities: [Self.authority]), clock: reader),
      catalogue: catalogue, limits: limits, registration: registration,
      trustsProxies: !trustedProxies.isEmpty, actualAuthorities: actualAuthorities,
      actualFiles: actualFiles, clock: reader,
      protocols: protocols, uptime: uptime)
    let api = api
    // Tests send many requests, so no answer is delayed.
    var edge = ServerLimits()
    edge.pauseCountMax = 0
    streams = try Streams(
      api.host, serving: protocols, limits: streamLimits ?? StreamLimits(),
      trustsProxies: !trustedProxies.isEmpty)
    if streamLimits != nil { streams.start() }
    wakeUps = WakeUps(
      api.host, serving: protocols,
      at: WebhookReceiver(url: "https://push.test", secrets: gateway.map { [$0.secret] } ?? []),
      through: PushTransport(gateway: gateway), limits: wakeUpLimits)
    if gateway != nil { wakeUps.start() }
    routes = api.routes + [streams.route] + wakeUps.routes
    server = try startServer(routes, name: "sync-test", limits: edge, proxies: trustedProxies) {
      error, head in Endpoints.problem(for: error, head)
    }
  }

  deinit {
    server.drain(within: .seconds(2))
    streams.stop()
    wakeUps.stop()
    pool.stop()
    database.close()
  }

  var port: UInt16 { server.port }

  /// Ends all streams, as a program that stops does.
  func stopStreams() { streams.stop() }

  /// Wakes no device any more, as a program that stops.
  func stopWakeUps() { wakeUps.stop() }

  /// The directory of the database's files and of the objects.
  var directory: String { scratch.directory.path }

  var objectsDirectory: String { scratch.directory.path + "/objects" }

  /// A sweeper that runs only when called.
  func sweeper() -> Sweeper { Sweeper(api.host, api.protocols, upkeep: api.upkeep) }

  /// Marks one slice of at most `count` files below deleted folders. Returns false if nothing waits.
  func markDeleted(count: Int) throws -> Bool {
    try TreeUpkeep(api.host).markDeleted(count: count)
  }

  /// A device with a fresh key that no account knows yet.
  func device(
    key: Ed25519PrivateKey = Ed25519PrivateKey(), root: Identifier = Random.identifier()
  ) -> TestDevice {
    let clock = clock
    return TestDevice(
      port: port, authority: Self.authority, key: key, root: root, observe: observe
    ) { clock.now }
  }

  /// Registers a fresh key and returns the device that holds it.
  func register(username: String? = nil) throws -> TestDevice {
    let device = device()
    let answer = try device.post(
      "/v1/accounts",
      .object(
        [.init("root", .string(device.root.description))]
          + (username.map { [.init("username", .string($0))] } ?? [])))
    guard answer.status == 201 else { throw UnexpectedAnswer(answer) }
    return device
  }

  /// The same database, opened as by another instance of the program.
  func anotherInstance() throws -> Database {
    try Database.open(scratch.location, owning: .sync, options: options)
  }

  /// What a restore does to a backup's database.
  func renewHistory() throws { try History.renew(at: scratch.location) }

  /// Suspends an account, or resumes it, as an operator would.
  func suspend(_ account: Identifier, since moment: Instant?) throws {
    let isChanged = try database.write(for: nil) {
      try Account.suspend($0, account, since: moment)
    }
    precondition(isChanged, "it was so before")
  }

  /// Sets an account's cap, as coffer-billing would.
  func setCap(_ account: Identifier, _ byteCount: Int64, plan: String, reason: String) throws {
    try asBilling(for: account) { transaction in
      try transaction.execute(
        "DELETE FROM billing.entitlements WHERE account_id = $1", .id(account))
      try transaction.execute(
        """
        INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason)
        VALUES ($1, 0, $2, $3, $4)
        """, .id(account), .integer(byteCount), .text(plan), .text(reason))
    }
  }

  /// A transaction as coffer-billing would have one.
  func asBilling(
    for account: Identifier, _ body: @escaping @Sendable (Transaction) throws -> Void
  ) throws {
    let billing = try Database.open(scratch.location, owning: .billing)
    defer { billing.close() }
    try billing.write(for: account, body)
  }
}

/// A clock that stands still until the test moves it.
final class TestClock: Sendable {
  private let time: Locked<Instant>
  init(_ start: Instant) { time = Locked(start) }
  var now: Instant { time.withLock { $0 } }
  func advance(_ span: Instant.Span) { time.withLock { $0 = $0 + span } }
  var clock: Clock { Clock { [self] in now } }
}
