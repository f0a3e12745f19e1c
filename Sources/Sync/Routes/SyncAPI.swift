package import Accounts
package import Base
package import Configuration
internal import Endpoints
internal import HTTPMessages
package import HTTPServer
internal import OpenAPI
package import Requests
package import Storage
package import Tiers

/// The document sync API, served by `coffer-sync`.
package struct SyncAPI: Sendable {
  let database: Database
  let objects: ObjectStore
  /// Runs work that may block for long: making large content durable.
  let pool: WorkPool
  let uploads = UploadsUnderWay()
  /// Retries requests that wait for an earlier attempt of their own.
  let later = Later(after: .milliseconds(100), capacity: Self.waitingCountMax)
  let gate: RequestGate
  let catalogue: Catalogue
  let limits: SyncLimits
  let registration: SyncConfiguration.Registration
  private let registrations: AddressBudget
  /// Counts from the first request on. Its owner starts and stops the flushes.
  package let transfers: TransferCounter
  let clock: Clock

  /// The most requests that may wait for an earlier attempt at one time.
  private static let waitingCountMax = 64

  /// The longest content of one document.
  static let contentByteCountMax: Int64 = 1 << 30

  /// `trustsProxies` takes clients' addresses from proxies. `uptime` is the clock of the request limits.
  package init(
    database: Database, objects: ObjectStore, pool: WorkPool, authenticator: Authenticator,
    catalogue: Catalogue, limits: SyncLimits = SyncLimits(),
    registration: SyncConfiguration.Registration = .open, trustsProxies: Bool = false,
    clock: Clock,
    uptime: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now
  ) {
    self.database = database
    self.objects = objects
    self.pool = pool
    self.catalogue = catalogue
    self.limits = limits
    gate = RequestGate(
      authenticator: authenticator,
      limiter: RequestLimiter(
        burst: limits.requestBurst, perSecond: limits.requestsPerSecond, now: uptime),
      refusals: .refusals(trustsProxies: trustsProxies, now: uptime), clock: clock)
    self.registration = registration
    registrations = AddressBudget(
      limits.accountsPerAddress, within: .days(1), addressCountMax: 100_000,
      trustsProxies: trustsProxies, now: uptime)
    transfers = TransferCounter(database, clock: clock)
    self.clock = clock
  }

  /// The signatures that this instance has checked.
  package var signatures: SignatureCounter { gate.authenticator.signatures }

  /// All routes. `openapi.json` describes them to programs.
  package var routes: [Route] {
    let endpoints: [any Endpoint] = [
      PostAccounts(api: self), GetAccount(api: self), GetDirectory(api: self),
      PostSessions(api: self), GetSessions(api: self), DeleteSession(api: self),
      PostDevices(api: self), PostRevocations(api: self), GetBlocks(api: self),
      ChangeBlock(api: self, change: .add), ChangeBlock(api: self, change: .remove),
      DeleteAccount(api: self), GetDeletion(api: self), CancelDeletion(api: self),
      PostFiles(api: self), GetFile(api: self), GetContent(api: self), GetUpdates(api: self),
    ]
    return endpoints.map { $0.route(on: database) } + [
      PutContent(api: self).route,
      PublicDocument.route("/openapi.json", OpenAPI.sync, freshSeconds: 3600), Health.alive,
      Health.ready(database, objects),
    ]
  }

  /// Refuses a request to open an account before computing anything, if no signer could open it.
  func refuseRegistration(_ head: RequestHead) throws(AccountRefusal) {
    guard registration != .closed else { throw .registrationClosed }
    guard let seconds = registrations.secondsToWait(head.remoteAddress) else { return }
    throw .registrationLimited(retryAfterSeconds: seconds)
  }

  /// Counts a signed request to open an account against its address, because accounts are free and
  /// limits for one account do not stop someone who opens a thousand. An unsigned request uses up
  /// nothing of its neighbours'.
  func countRegistration(_ head: RequestHead) throws(AccountRefusal) {
    guard !registrations.spend(head.remoteAddress) else { return }
    throw .registrationLimited(
      retryAfterSeconds: registrations.secondsToWait(head.remoteAddress) ?? 1)
  }
}

extension AccountRequest {
  func identifier(_ index: Int) throws(Refusal) -> Identifier {
    guard let id = Identifier(captures[index]) else { throw .fileNotFound }
    return id
  }
}
