import Answers
import Base
import Billing
import ClaimingDevice
import Crypto
import Endpoints
import Google
import HTTPMessages
import HTTPServer
import JSON
import JWS
import Jobs
import KnownStores
import Ledger
import ProviderAPI
import Storage
import Stores
import Subscriptions
import TestEngines
import Testing
import Tiers

/// Billing of an app that is sold at Google Play, over a real database and a scripted Google.
final class PlayShop {
  let database: Database
  let play = ScriptedPlay()
  let service: BillingService
  private let scratch: ScratchDatabase
  private let clock = Locked(day(1))
  private let rules = LedgerRules(catalogue: PlayShop.catalogue)
  let routes: [Route]
  private let messageCount = Locked(0)

  static let product = "premium"
  private static let audience = "https://billing.example/webhooks/google"
  private static let email = "push@coffer.example"

  static let catalogue: Catalogue = {
    do {
      return try Catalogue(
        version: "play-test", free: Plan(id: "free", title: "Free", byteCount: 10),
        paid: [
          Plan(
            id: "premium", title: "Premium", byteCount: 1000,
            products: [Plan.Product(provider: "google", id: "\(product):monthly")])
        ])
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  init(_ engine: TestEngine = .sqlite) throws {
    scratch = try ScratchDatabase(engine, with: .schemas)
    database = try Database.open(scratch.location, owning: .billing)
    let clock = Clock { [clock] in clock.withLock { $0 } }
    let account = try #require(ServiceAccount(keyFile: Secret(ScriptedPlay.keyFile.encoded())))
    service = BillingService(
      database: database, rules: rules, sealing: Harness.sealing, clock: clock,
      stores: StoreList.known(
        with: GoogleStore(
          verifier: GoogleVerifier(
            GoogleTrust(packages: ["app.coffer"], audience: Self.audience, email: Self.email),
            keys: PushKeys(url: "https://keys.example/certs", transport: play, clock: clock)),
          apis: [
            GoogleAPI(package: "app.coffer", account: account, transport: play, clock: clock)
          ])),
      clients: ClaimingDevice.policy)
    routes = service.routes()
  }

  deinit { database.close() }

  var now: Instant {
    get { clock.withLock { $0 } }
    set { clock.withLock { $0 = newValue } }
  }

  func device(of account: Identifier) throws -> ClaimingDevice {
    try ClaimingDevice(of: account, scratch.location)
  }

  /// Records that the account will be erased, as the sync program would.
  func leave(_ account: Identifier) throws {
    try scratch.leave(account, at: now, erasing: now + .days(7))
  }

  func claim(_ token: String, by device: ClaimingDevice) throws -> (status: Int, word: String) {
    try device.claim(
      ["provider": "google", "token": .string(token)], at: now, through: routes)
  }

  /// Pushes a notification about a purchase as Pub/Sub would; type 4, for example, means purchased.
  @discardableResult
  func push(_ token: String, _ type: Int64, eventTime: String? = nil) throws -> Int {
    let head = RequestHead(
      method: "POST", target: "/webhooks/google", headers: Headers([("Authorization", bearer())]),
      authority: "billing")
    let route = try #require(routes.first { $0.pattern == head.target })
    do {
      return try route.admit(head, []).wait().finish(body(token, type, eventTime)).wait().status
    } catch {
      return problem(for: error, head).status
    }
  }

  /// A push with its head sent and its body on its way.
  func admitPush() throws -> PushUnderWay {
    let head = RequestHead(
      method: "POST", target: "/webhooks/google", headers: Headers([("Authorization", bearer())]),
      authority: "billing")
    let route = try #require(routes.first { $0.pattern == head.target })
    return PushUnderWay(head: head, admission: try route.admit(head, []))
  }

  func bearer() -> String {
    let claims: JSONValue = [
      "iss": "https://accounts.google.com", "aud": .string(Self.audience),
      "email": .string(Self.email), "email_verified": true, "iat": .integer(now.seconds),
      "exp": .integer(now.seconds + 3600),
    ]
    return "Bearer "
      + CompactJWS.compact(
        header: ["alg": "RS256", "kid": "k1", "typ": "JWT"], payload: claims,
        sign: ScriptedPlay.key.signature)
  }

  func body(_ token: String, _ type: Int64, _ eventTime: String? = nil) -> [UInt8] {
    let number = messageCount.withLock { count in
      count += 1
      return count
    }
    let data: JSONValue = [
      "version": "1.0", "packageName": "app.coffer",
      "eventTimeMillis": .string(eventTime ?? String(now.milliseconds)),
      "subscriptionNotification": [
        "version": "1.0", "notificationType": .integer(type), "purchaseToken": .string(token),
      ],
    ]
    let envelope: JSONValue = [
      "message": [
        "data": .string(Base64.standard.encode(data.encoded())),
        "messageId": .string(String(number)),
      ]
    ]
    return envelope.encoded()
  }

  /// Runs all due jobs once, one job of each kind after the other; returns how many ran.
  @discardableResult
  func runDue() throws -> Int {
    var count = 0
    for handler in service.jobHandlers {
      let now = now
      let leases = try database.write(for: nil) { transaction in
        try Jobs.lease(handler.kind, limit: 10, now: now, in: transaction)
      }
      for lease in leases {
        count += 1
        do throws(JobFailure) {
          try commit(try handler.run(lease), lease)
        } catch {
          _ = try database.write(for: nil) { try lease.retry(error, now: now, in: $0) }
        }
      }
    }
    return count
  }

  private func commit(_ result: JobResult, _ lease: Lease) throws(JobFailure) {
    let now = now
    do {
      try database.write(for: nil) { transaction in
        try result.commit(lease, now: now, in: transaction).committed
      }()
    } catch let failure as JobFailure {
      throw failure
    } catch {
      throw .refused("\(error)")
    }
  }

  /// The number of purchases that are read before this one if the handlers, in turn, run one job at a time.
  func readsBefore(_ token: String) throws -> Int {
    let before = play.reads.count
    for _ in 0..<400 where !play.reads.contains(token) {
      for handler in service.jobHandlers {
        let now = now
        let leases = try database.write(for: nil) { transaction in
          try Jobs.lease(
            handler.kind, lanes: handler.lanes, limit: 1, now: now, in: transaction)
        }
        for lease in leases {
          do throws(JobFailure) { try commit(try handler.run(lease), lease) } catch {
            _ = try database.write(for: nil) { try lease.retry(error, now: now, in: $0) }
          }
        }
      }
    }
    let index = try #require(play.reads.firstIndex(of: token))
    return index - before
  }

  func job(_ kind: String, _ token: String) throws -> JobSummary? {
    let key = try #require(PurchaseToken(token)).objectKey.description
    return try database.read { try Jobs.find(kind, key, reading: $0) }
  }

  func cap(of account: Identifier) throws -> Int64 {
    try database.read { reader in
      try EntitlementExplanation(
        of: account, at: now, catalogue: Self.catalogue, stores: .known, reading: reader)
    }.current.capByteCount
  }

  func count(_ sql: String) throws -> Int64 {
    try database.read { reader in try reader.first(sql) { row in try row.integer(0) } } ?? -1
  }
}

/// A push after its head and before its body.
struct PushUnderWay {
  let head: RequestHead
  let admission: Step<Admission>

  /// Continues as a server does: when the head has been checked, on any thread.
  func then(_ body: [UInt8], _ done: @escaping @Sendable (Int) -> Void) {
    let head = head
    let fail = { @Sendable (error: any Error) in done(problem(for: error, head).status) }
    let finish = { @Sendable (result: Result<Admission, any Error>) in
      do {
        switch try result.get().finish(body) {
        case .ready(let response): done(response.status)
        case .pending(let start):
          start { result in
            switch result {
            case .success(let response): done(response.status)
            case .failure(let error): fail(error)
            }
          }
        }
      } catch {
        fail(error)
      }
    }
    switch admission {
    case .ready(let admission): finish(.success(admission))
    case .pending(let start): start(finish)
    }
  }
}

/// Google's key set, token endpoint and purchases API, with answers set by the test.
final class ScriptedPlay: ProviderTransport {
  static let key = RSAPrivateKey()

  static let keyFile: JSONValue = [
    "type": "service_account", "client_email": "a@b", "private_key_id": "1",
    "private_key": .string(String(decoding: key.pem.exposed, as: UTF8.self)),
    "token_uri": "https://oauth2.example/token",
  ]

  typealias Answer = (status: Int, body: [UInt8])

  private struct State {
    var purchases: [String: Answer] = [:]
    var token: Answer = (200, Array(#"{"access_token":"a","expires_in":3599}"#.utf8))
    /// The tokens of purchases that were read, in order.
    var reads: [String] = []
    var keyReadCount = 0
    var keyFailureCount = 0
    var whileKeysAreRead: (@Sendable () -> Void)?
    var duringNextRead: (() -> Void)?
  }

  private let state = Locked(State())

  /// Adds a purchase of one month, or until `end`; active by default.
  func sell(
    _ token: String, at start: Instant, account: Identifier? = nil, state: String = "ACTIVE",
    until end: Instant? = nil, isAcknowledged: Bool = false
  ) {
    var members: [JSONValue.Member] = [
      .init("kind", "androidpublisher#subscriptionPurchaseV2"),
      .init("subscriptionState", .string("SUBSCRIPTION_STATE_\(state)")),
      .init("startTime", .string(start.description)),
      .init(
        "acknowledgementState",
        .string("ACKNOWLEDGEMENT_STATE_\(isAcknowledged ? "ACKNOWLEDGED" : "PENDING")")),
      .init(
        "lineItems",
        [
          [
            "productId": .string(PlayShop.product),
            "expiryTime": .string((end ?? start + .days(30)).description),
            "autoRenewingPlan": ["autoRenewEnabled": true],
            "offerDetails": ["basePlanId": "monthly"],
          ]
        ]),
    ]
    if let account {
      members.append(
        .init(
          "externalAccountIdentifiers",
          ["obfuscatedExternalAccountId": .string(account.description)]))
    }
    answer(token, 200, JSONValue.object(members).encoded())
  }

  func answer(_ token: String, _ status: Int, _ body: [UInt8]) {
    state.withLock { $0.purchases[token] = (status, body) }
  }

  func answerToken(_ status: Int, _ body: String) {
    state.withLock { $0.token = (status, Array(body.utf8)) }
  }

  var reads: [String] { state.withLock { $0.reads } }
  var keyReadCount: Int { state.withLock { $0.keyReadCount } }

  /// Makes the next `count` reads of the key set fail.
  func failKeys(_ count: Int) { state.withLock { $0.keyFailureCount = count } }

  func whileKeysAreRead(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.whileKeysAreRead = body }
  }

  /// Runs `body` while the next purchase is read.
  func duringNextRead(_ body: @escaping () -> Void) {
    state.withLock { $0.duringNextRead = body }
  }

  static func error(_ status: Int, _ reason: String) -> [UInt8] {
    let error: JSONValue = [
      "error": [
        "code": .integer(Int64(status)), "message": "No.",
        "errors": [
          ["message": "No.", "domain": "androidpublisher", "reason": .string(reason)]
        ],
      ]
    ]
    return error.encoded()
  }

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let name = request.url.split(separator: "/").last.map(String.init) ?? ""
    if name == "certs" {
      let (meanwhile, fails) = state.withLock { state in
        state.keyReadCount += 1
        state.keyFailureCount -= 1
        return (state.whileKeysAreRead, state.keyFailureCount >= 0)
      }
      meanwhile?()
      if fails { throw .transient("down", retryAfter: nil) }
      return reply((200, Self.keySet))
    }
    let answer = state.withLock { state -> Answer in
      if name == "token" { return state.token }
      if request.method == "POST" { return (200, Array("{}".utf8)) }
      state.reads.append(name)
      return state.purchases[name] ?? (404, Self.error(404, "purchaseTokenNotFound"))
    }
    if name != "token", request.method == "GET" {
      state.withLock { state in
        defer { state.duringNextRead = nil }
        return state.duringNextRead
      }?()
    }
    let reply = reply(answer)
    if let failure = reply.transientFailure { throw failure }
    return reply
  }

  private func reply(_ answer: Answer) -> APIReply {
    APIReply(
      status: answer.status, headers: Headers([]), body: answer.body, elapsed: .milliseconds(1))
  }

  private static let keySet: [UInt8] = {
    let set: JSONValue = [
      "keys": [
        [
          "kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k1",
          "n": .string(Base64.url.encode(key.publicKey.modulus)),
          "e": .string(Base64.url.encode(key.publicKey.exponent)),
        ]
      ]
    ]
    return set.encoded()
  }()
}
