package import Base
package import Configuration
internal import Endpoints
package import HTTPMessages
package import HTTPServer
internal import HTTPSignatures
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
  let authenticator: Authenticator
  let catalogue: Catalogue
  let limits: SyncLimits
  let limiter: RequestLimiter
  private let refusals: AddressBudget
  let registration: SyncConfiguration.Registration
  private let registrations: AddressBudget
  /// Counts from the first request on; its owner starts and stops the flushes.
  package let transfers: TransferCounter
  let clock: Clock

  /// Requests that may wait for an earlier attempt of theirs at one time.
  private static let waitingCountMax = 64

  /// The longest JSON body any endpoint takes.
  static let bodyByteCountMax = 16 * 1024
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
    self.authenticator = authenticator
    self.catalogue = catalogue
    self.limits = limits
    limiter = RequestLimiter(limits, now: uptime)
    refusals = .refusals(trustsProxies: trustsProxies, now: uptime)
    self.registration = registration
    registrations = AddressBudget(
      limits.accountsPerAddress, within: .days(1), addressCountMax: 100_000,
      trustsProxies: trustsProxies, now: uptime)
    transfers = TransferCounter(database, clock: clock)
    self.clock = clock
  }

  /// What this instance has checked.
  package var signatures: SignatureCounter { authenticator.signatures }

  /// Everything served; `openapi.json` says the same to programs.
  package var routes: [Route] {
    let endpoints: [any Endpoint] = [
      PostAccounts(api: self), GetAccount(api: self), GetDirectory(api: self),
      PostSessions(api: self), GetSessions(api: self), DeleteSession(api: self),
      PostDevices(api: self), PostRevocations(api: self), GetBlocks(api: self),
      ChangeBlock(api: self, change: .add), ChangeBlock(api: self, change: .remove),
      PostFiles(api: self), GetFile(api: self), GetContent(api: self), GetUpdates(api: self),
    ]
    return endpoints.map { $0.route(on: database) } + [
      PutContent(api: self).route, GetDescription.route, Health.alive, Health.ready(database),
    ]
  }

  /// Where refusals become answers; storage trouble and bugs are the same for every program. Called
  /// once for each, so this is where an address pays for those that nobody known has caused.
  package func problem(for error: any Error, _ head: RequestHead) -> Problem {
    guard let refusal = error as? Refusal else { return Endpoints.problem(for: error, head) }
    if refusal.isOfStranger { refusals.spend(head.remoteAddress) }
    return refusal.problem(catalogue: catalogue)
  }

  /// Refuses, before anything is computed for it, a request of an address that has had too many
  /// refused; but not one in the name of a key or session that was confirmed not long ago, since many
  /// share an address.
  private func refuseSpent(_ head: RequestHead) throws(Refusal) {
    guard let seconds = refusals.secondsToWait(head.remoteAddress) else { return }
    guard let key = authenticator.claimedKey(head), limiter.knows(key) else {
      throw .addressRefused(retryAfterSeconds: seconds)
    }
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

  /// A request whose headers were accepted.
  struct Request: Sendable {
    let head: RequestHead
    let captures: [String]
    let credentials: Credentials
    /// What the body must hash to; nil where the request has none.
    let digest: ContentDigest?

    /// Authenticates by the headers, and refuses an account whose requests are used up.
    init(_ head: RequestHead, _ captures: [Substring], _ api: SyncAPI) throws {
      self.head = head
      self.captures = captures.map(String.init)
      // Without an Authorization field caches that are shared could keep the answer (RFC 9111,
      // section 3.5).
      head.answerFields.set("Cache-Control", "private, no-store")
      try api.refuseSpent(head)
      let proof = try api.authenticator.proof(head)
      credentials = Credentials(
        proof: proof, meter: RequestMeter(api.limiter, key: proof.key, head.answerFields))
      try credentials.meter.begin()
      switch proof {
      case .signed(let signature): digest = signature.contentDigest
      case .session: digest = try Self.announcedDigest(head)
      }
    }

    /// A session's request may announce a digest without having to.
    private static func announcedDigest(_ head: RequestHead) throws(Refusal) -> ContentDigest? {
      guard let field = head.headers.combined("content-digest") else { return nil }
      do { return try ContentDigest.parse(field) } catch { throw .signature(error) }
    }

    /// The body, once it is known to be the one that was signed.
    func checked(_ body: [UInt8]) throws(Refusal) -> [UInt8] {
      guard let digest else { return body }
      guard digest.matches(body) else { throw .digestMismatch }
      return body
    }

    func identifier(_ index: Int) throws(Refusal) -> Identifier {
      guard let id = Identifier(captures[index]) else { throw .fileNotFound }
      return id
    }
  }

  /// Whose the key or session of a request is, unless that is remembered: asked before the body is
  /// read, since strangers send bodies, too. The transaction asks again.
  func inquiry(_ credentials: Credentials) -> Inquiry? {
    guard !credentials.meter.isCounted else { return nil }
    return { reader in _ = try Caller(reader, credentials, now: clock.now()) }
  }
}
