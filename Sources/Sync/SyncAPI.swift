package import Base
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
  /// Counts from the first request on; its owner starts and stops the flushes.
  package let transfers: TransferCounter
  let clock: Clock

  /// Requests that may wait for an earlier attempt of theirs at one time.
  private static let waitingCountMax = 64

  /// The longest JSON body any endpoint takes.
  static let bodyByteCountMax = 16 * 1024
  /// The longest content of one document.
  static let contentByteCountMax: Int64 = 1 << 30

  /// `uptime` is what limits on requests go by.
  package init(
    database: Database, objects: ObjectStore, pool: WorkPool, authenticator: Authenticator,
    catalogue: Catalogue, limits: SyncLimits = SyncLimits(), clock: Clock,
    uptime: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now
  ) {
    self.database = database
    self.objects = objects
    self.pool = pool
    self.authenticator = authenticator
    self.catalogue = catalogue
    self.limits = limits
    limiter = RequestLimiter(limits, now: uptime)
    transfers = TransferCounter(database, clock: clock)
    self.clock = clock
  }

  /// What this instance has checked.
  package var signatures: SignatureCounter { authenticator.signatures }

  /// Everything served; `openapi.json` says the same to programs.
  package var routes: [Route] {
    [
      createAccount, readAccount, readDirectory, createSession, readSessions, endSession,
      addDevice, revokeDevice, changeFiles, readFile, writeContent, readContent, readUpdates,
      Self.readDescription,
      Health.alive, Health.ready(database, pool: pool),
    ]
  }

  /// Where refusals become answers; storage trouble and bugs are the same for every program.
  package func problem(for error: any Error, _ head: RequestHead) -> Problem {
    (error as? Refusal)?.problem(catalogue: catalogue) ?? Endpoints.problem(for: error, head)
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

  /// An endpoint that changes something, at most once per signed request.
  func write<Input: Sendable>(
    _ method: String, _ pattern: String, bodyByteCountMax: Int = Self.bodyByteCountMax,
    parse: @escaping @Sendable (Request, [UInt8]) throws -> Input,
    transact: @escaping @Sendable (Transaction, Request, Input, Instant) throws -> Outcome
  ) -> Endpoint<Request, (Request, Input), (Outcome, Request)> {
    write(
      method, pattern, bodyByteCountMax: bodyByteCountMax, parse: parse, transact: transact,
      finish: { outcome, _ in outcome })
  }

  /// One whose answer is made of what the transaction gave, once that is durable.
  func write<Input: Sendable, Output: Sendable>(
    _ method: String, _ pattern: String, bodyByteCountMax: Int = Self.bodyByteCountMax,
    parse: @escaping @Sendable (Request, [UInt8]) throws -> Input,
    transact: @escaping @Sendable (Transaction, Request, Input, Instant) throws -> Output,
    finish: @escaping @Sendable (Output, Request) throws -> Outcome
  ) -> Endpoint<Request, (Request, Input), (Output, Request)> {
    Endpoint(
      method, pattern, bodyByteCountMax: bodyByteCountMax,
      admit: { head, captures in try Request(head, captures, self) },
      prepare: { request, body in (request, try parse(request, request.checked(body))) },
      work: .write(share: { $0.0.credentials.share }) { transaction, input in
        (try transact(transaction, input.0, input.1, clock.now()), input.0)
      },
      respond: { output, request in try finish(output, request).response })
  }

  /// An endpoint that only reads.
  func read<Output: Sendable>(
    _ pattern: String,
    work: @escaping @Sendable (Reader, Request, Instant) throws -> Output,
    respond: @escaping @Sendable (Output, RequestHead) throws -> Response
  ) -> Route {
    Endpoint<Request, Request, (Output, RequestHead)>(
      "GET", pattern, bodyByteCountMax: 0,
      admit: { head, captures in try Request(head, captures, self) },
      prepare: { request, _ in request },
      work: .read { reader, request in
        (try work(reader, request, clock.now()), request.head)
      },
      respond: { output, head in try respond(output, head) }
    ).route(on: database)
  }
}
