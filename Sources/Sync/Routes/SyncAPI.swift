package import Accounts
package import Base
package import Configuration
package import Endpoints
import HTTPMessages
package import HTTPServer
package import Objects
import OpenAPI
package import Requests
package import Storage
package import Tiers

/// The sync API, served by `coffer-sync`: the endpoints of accounts, and those of each protocol.
package struct SyncAPI: Sendable {
  package let host: ProtocolHost
  package let protocols: [any ProtocolRoom]
  private let uploads: ResumableUploads
  let registration: SyncConfiguration.Registration
  private let registrations: AddressBudget

  /// `trustsProxies` takes clients' addresses from proxies. `uptime` is the clock of the request limits.
  /// The owner of the API starts and stops `host.transfers`.
  package init(
    database: Database, objects: any ObjectStore, pool: WorkPool, authenticator: Authenticator,
    catalogue: Catalogue, limits: SyncLimits = SyncLimits(),
    registration: SyncConfiguration.Registration = .open, trustsProxies: Bool = false,
    actualAuthorities: Set<String> = [], actualFiles: PublicFiles? = nil, clock: Clock,
    protocols: [any ProtocolRoom.Type],
    uptime: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now
  ) {
    let host = ProtocolHost(
      database: database, objects: objects, pool: pool,
      gate: RequestGate(
        authenticator: authenticator,
        limiter: RequestLimiter(
          burst: limits.requestBurst, perSecond: limits.requestsPerSecond, now: uptime),
        refusals: .refusals(trustsProxies: trustsProxies, now: uptime), clock: clock),
      catalogue: catalogue, limits: limits, clock: clock, actualAuthorities: actualAuthorities,
      actualFiles: actualFiles,
      failedLogins: FailedLogins(trustsProxies: trustsProxies, now: uptime),
      linkLimits: LinkLimits(
        bytesPerDay: limits.linkBytesPerDay, trustsProxies: trustsProxies, now: uptime),
      recoveries: AddressBudget(
        20, within: .minutes(15), addressCountMax: 10_000, trustsProxies: trustsProxies,
        now: uptime))
    self.host = host
    self.protocols = protocols.map { $0.init(host) }
    uploads = ResumableUploads(host, of: self.protocols.flatMap(\.contents))
    self.registration = registration
    registrations = AddressBudget(
      limits.accountsPerAddress, within: .days(1), addressCountMax: 100_000,
      trustsProxies: trustsProxies, now: uptime)
  }

  /// The signatures that this instance has checked.
  package var signatures: SignatureCounter { host.gate.authenticator.signatures }

  /// All routes. `openapi.json` describes them to programs.
  package var routes: [Route] {
    let endpoints: [any Endpoint] = [
      PostAccounts(api: self),
      GetAccount(host: host, protocols: protocols.map { type(of: $0) }), GetDirectory(host: host),
      PostSessions(host: host), GetSessions(host: host), DeleteSession(host: host),
      PostAppPasswords(host: host), GetAppPasswords(host: host), DeleteAppPassword(host: host),
      PostDevices(host: host), PostRevocations(host: host), GetBlocks(host: host),
      ChangeBlock(host: host, change: .add), ChangeBlock(host: host, change: .remove),
      PutHistory(host: host), DeleteAccount(host: host), GetDeletion(host: host),
      CancelDeletion(host: host),
    ]
    return endpoints.map { $0.route(on: host.database) } + protocols.flatMap(\.routes)
      + uploads.routes + [
        PublicDocument.route("/openapi.json", OpenAPI.sync, freshSeconds: 3600), Health.alive,
        Health.ready(host.database, host.objects),
      ]
  }

  /// The work that coffer-sync repeats for its protocols.
  package var upkeep: [Upkeep] { protocols.flatMap(\.upkeep) + uploads.upkeep }

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

/// A page of a list that begins with the newest: `before` and `limit` of a query. Other names are ignored.
struct NewestFirst {
  private(set) var before = Int64.max
  private(set) var limit = 100

  init(_ query: Substring?) throws(RequestRefusal) {
    for (name, value) in queryFields(query) {
      switch name {
      case "before":
        guard let number = Int64(value) else {
          throw RequestRefusal.limitInvalid(max: Updates.limitMax)
        }
        before = number
      case "limit": limit = try pageLimit(value, max: Updates.limitMax)
      default: break
      }
    }
  }
}
