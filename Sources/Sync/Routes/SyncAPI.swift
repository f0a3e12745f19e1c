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
    [
      createAccount, readAccount, readDirectory, createSession, readSessions, endSession,
      addDevice, revokeDevice, readBlocks, addBlock, removeBlock, changeFiles, readFile,
      writeContent, readContent, readUpdates, Self.readDescription,
      Health.alive, Health.ready(database),
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
  private func refuseRegistration(_ head: RequestHead) throws(Refusal) {
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

  /// An endpoint that changes something, at most once per signed request. Where it `registers` its
  /// caller, the key need not be known.
  func write<Input: Sendable>(
    _ method: String, _ pattern: String, bodyByteCountMax: Int = Self.bodyByteCountMax,
    registers: Bool = false,
    parse: @escaping @Sendable (Request, [UInt8]) throws -> Input,
    transact: @escaping @Sendable (Transaction, Request, Input, Instant) throws -> Outcome
  ) -> Endpoint<Request, (Request, Input), (Outcome, Request)> {
    write(
      method, pattern, bodyByteCountMax: bodyByteCountMax, registers: registers, parse: parse,
      transact: transact, finish: { outcome, _ in outcome })
  }

  /// One whose answer is made of what the transaction gave, once that is durable.
  func write<Input: Sendable, Output: Sendable>(
    _ method: String, _ pattern: String, bodyByteCountMax: Int = Self.bodyByteCountMax,
    registers: Bool = false,
    parse: @escaping @Sendable (Request, [UInt8]) throws -> Input,
    transact: @escaping @Sendable (Transaction, Request, Input, Instant) throws -> Output,
    finish: @escaping @Sendable (Output, Request) throws -> Outcome
  ) -> Endpoint<Request, (Request, Input), (Output, Request)> {
    Endpoint(
      method, pattern, bodyByteCountMax: bodyByteCountMax,
      admit: { head, captures in
        if registers { try refuseRegistration(head) }
        return try Request(head, captures, self)
      },
      inquire: { (request: Request) -> Inquiry? in
        registers ? nil : inquiry(request.credentials)
      },
      prepare: { request, body in (request, try parse(request, request.checked(body))) },
      work: .write(share: { $0.0.credentials.share }) {
        (transaction: Transaction, input: (Request, Input)) throws -> (Output, Request) in
        let (request, parsed) = input
        defer {
          request.credentials.meter.charge(Price.rows(transaction.work.rowCount), for: .writing)
        }
        return (try transact(transaction, request, parsed, clock.now()), request)
      },
      respond: { output, request in try finish(output, request).response })
  }

  /// An endpoint that only reads. What `isLong` looks at many rows or opens files.
  func read<Output: Sendable>(
    _ pattern: String, isLong: Bool = false,
    work: @escaping @Sendable (Reader, Request, Instant) throws -> Output,
    respond: @escaping @Sendable (Output, Request) throws -> Response
  ) -> Route {
    Endpoint<Request, Request, (Output, Request)>(
      "GET", pattern, bodyByteCountMax: 0,
      admit: { head, captures in try Request(head, captures, self) },
      prepare: { request, _ in request },
      work: .read(share: { $0.credentials.share }, isLong: isLong) {
        (reader: Reader, request: Request) throws -> (Output, Request) in
        defer { request.credentials.meter.charge(Price.rows(reader.work.rowCount), for: .reading) }
        return (try work(reader, request, clock.now()), request)
      },
      respond: { output, request in try respond(output, request) }
    ).route(on: database)
  }
}
