package import Base
package import Configuration
internal import Endpoints
package import HTTPMessages
package import HTTPServer
internal import OpenAPI
package import Requests
package import Storage
package import Tiers

/// The document sync API: what `coffer-sync` serves.
package struct SyncAPI: Sendable {
  let database: Database
  let objects: ObjectStore
  /// Runs what may block for long: making large content durable.
  let pool: WorkPool
  let uploads = UploadsUnderWay()
  /// Asks again for requests that wait for an earlier attempt of theirs.
  let later = Later(after: .milliseconds(100), capacity: Self.waitingCountMax)
  let gate: RequestGate
  let catalogue: Catalogue
  let limits: SyncLimits
  let registration: SyncConfiguration.Registration
  private let registrations: AddressBudget
  /// Counts from the first request on; its owner starts and stops the flushes.
  package let transfers: TransferCounter
  let clock: Clock

  /// Requests that may wait for an earlier attempt of theirs at one time.
  private static let waitingCountMax = 64

  /// The longest content of one document.
  static let contentByteCountMax: Int64 = 1 << 30

  /// `trustsProxies` where clients' addresses are those that proxies tell; `uptime` is what limits on
  /// requests go by.
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

  /// What this instance has checked.
  package var signatures: SignatureCounter { gate.authenticator.signatures }

  /// Everything served; `openapi.json` says the same to programs.
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

  /// Where refusals become answers; storage trouble and bugs are the same for every program.
  package func problem(for error: any Error, _ head: RequestHead) -> Problem {
    guard let refusal = error as? Refusal else { return Endpoints.problem(for: error, head) }
    return refusal.problem(catalogue: catalogue)
  }

  /// Refuses, before anything is computed for it, a request to open an account that is not opened
  /// whoever signed it.
  func refuseRegistration(_ head: RequestHead) throws(Refusal) {
    guard registration != .closed else { throw .registrationClosed }
    guard let seconds = registrations.secondsToWait(head.remoteAddress) else { return }
    throw .registrationLimited(retryAfterSeconds: seconds)
  }

  /// Counts a signed request to open an account, since accounts are free and what limits one limits
  /// nobody who opens a thousand. Whoever signs nothing takes nothing from its neighbours.
  func countRegistration(_ head: RequestHead) throws(Refusal) {
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
