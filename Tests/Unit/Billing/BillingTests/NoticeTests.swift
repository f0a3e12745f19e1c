import Apple
import Base
import Billing
import ClaimingDevice
import Configuration
import Crypto
import HTTPMessages
import HTTPServer
import JSON
import Jobs
import KnownStores
import Ledger
import ProviderAPI
import Storage
import Stores
import Subscriptions
import TestEngines
import TestFiles
import Testing

/// The notices that an app's server gets when an account's subscriptions or plan have changed.
struct NoticeTests {
  private let ada = Random.identifier()
  private let original = "2000000\(Int64.random(in: 100_000_000...999_999_999))"

  private func buy(_ desk: Desk, at now: Instant = day(1)) throws {
    let told = AppleSample.transaction(original, day: 0, account: ada, signed: now)
    #expect(try desk.notify(told, at: now) == 200)
  }

  @Test(arguments: TestEngine.available)
  func `the body is what the account itself reads, and comes once`(engine: TestEngine) throws {
    let desk = try Desk(engine)
    try buy(desk)
    try desk.work(until: day(2))
    let notice = try #require(desk.app.received.first)
    #expect(desk.app.received.count == 1)
    let device = try ClaimingDevice(of: ada, desk.location)
    let read = try device.read("/v1/subscription", at: desk.now, through: desk.routes)
    #expect(try JSONValue(JSON.parse(notice.body)) == JSONValue(read.json))
    #expect(read.json["state"].string == "active")
  }

  @Test func `what time alone changes is told when it changes`() throws {
    let desk = try Desk()
    try buy(desk)
    try desk.work(until: day(60))
    let states = try desk.app.received.map { try JSON.parse($0.body)["state"].string ?? "" }
    #expect(states.first == "active")
    #expect(states.last == "expired", "\(states)")
    #expect(zip(states, states.dropFirst()).allSatisfy { $0 != $1 }, "\(states)")
  }

  @Test func `a receiver that fails gets the same notice by the published times, then no more`()
    throws
  {
    let desk = try Desk()
    desk.app.answer = .transient("down", retryAfter: nil)
    try buy(desk)
    try desk.work(until: day(1) + .days(4))
    let received = desk.app.received
    #expect(Set(received.map(\.id)).count == 1)
    #expect(Set(received.map { String(decoding: $0.body, as: UTF8.self) }).count == 1)
    let waits = zip(received, received.dropFirst()).map { ($1.at - $0.at).milliseconds / 1000 }
    #expect(waits == [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400])
  }

  @Test func `what changed meanwhile follows the notice that waits, in order`() throws {
    let desk = try Desk()
    desk.app.answer = .transient("down", retryAfter: nil)
    try buy(desk)
    try desk.work(until: day(1) + .hours(1))
    let grant = Decision.grant(
      ada, planID: "premium", from: desk.now, until: nil, note: "sorry")
    try desk.decide(grant)
    desk.app.answer = nil
    try desk.work(until: day(2))
    let bodies = try desk.app.arrived.map { try JSON.parse($0.body) }
    #expect(bodies.map { $0["access_ends"].isNull } == [false, true])
  }

  @Test func `a plan that is given is told, too, and its end`() throws {
    let desk = try Desk()
    try desk.decide(
      .grant(ada, planID: "premium", from: desk.now, until: desk.now + .days(3), note: "sorry"))
    try desk.work(until: day(9))
    let bodies = try desk.app.arrived.map { try JSON.parse($0.body) }
    #expect(bodies.map { $0["reason"].string } == ["granted", "lapsed"])
  }

  @Test func `a receiver that wants no more is left alone until it is told again`() throws {
    let desk = try Desk()
    desk.app.answer = .gone
    try buy(desk)
    try desk.work(until: day(5))
    #expect(desk.app.received.count == 1)
    desk.app.answer = nil
    try desk.database.write(for: nil) { try Notices.setDisabled(nil, in: $0) }
    try desk.work(until: day(6))
    #expect(desk.app.arrived.count == 1)
    #expect(desk.app.received[0].id == desk.app.received[1].id)
  }

  @Test(arguments: TestEngine.available)
  func `what was made since a time is sent again, as it was`(engine: TestEngine) throws {
    let desk = try Desk(engine)
    try buy(desk)
    try desk.work(until: day(2))
    let (first, now) = (try #require(desk.app.arrived.first), desk.now)
    func replay(since moment: Instant) throws -> Int64 {
      try desk.database.write(for: nil) { transaction in
        try NoticeRow.replay(since: moment, of: nil, at: now, in: transaction)
      }
    }
    #expect(try replay(since: now) == 0)
    #expect(try replay(since: day(1)) == 1)
    try desk.work(until: day(3))
    #expect(desk.app.arrived.map(\.id) == [first.id, first.id])
    #expect(desk.app.arrived.map(\.body) == [first.body, first.body])
  }

  @Test func `where nobody is told, nothing is kept for it`() throws {
    let shop = try Shop()
    let told = AppleSample.transaction(original, day: 0, account: ada, signed: day(1))
    #expect(try shop.notify("n1", told, at: day(1)) == 200)
    #expect(try shop.count("SELECT count(*) FROM billing.jobs WHERE kind = 'notice'") == 0)
  }

  /// The test vectors of https://github.com/standard-webhooks/standard-webhooks and its libraries.
  @Test(arguments: [
    (
      "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", Int64(1_614_265_330),
      #"{"test": 2432232314}"#, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    ),
    (
      "plJ3nmyCDGBKInavdOK15jsl", "msg_loFOjxBNrRLzqYUf", Int64(1_731_705_121),
      #"{"event_type":"ping","data":{"success":true}}"#,
      "rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="
    ),
  ])
  func `a notice is signed as the published vectors are`(
    secret: String, id: String, seconds: Int64, body: String, signature: String
  ) throws {
    let key = Secret(try #require(Base64.standard.decode(secret)))
    let other = Secret([UInt8](repeating: 7, count: 24))
    let request = WebhookReceiver(url: "https://app.example", secrets: [other, key])
      .request(id, body, at: Instant(seconds: seconds))
    let headers = Dictionary(request.headers) { first, _ in first }
    #expect(headers["webhook-id"] == id)
    #expect(headers["webhook-timestamp"] == String(seconds))
    #expect(headers["webhook-signature"]?.split(separator: " ").last == "v1,\(signature)")
    #expect(request.body == Array(body.utf8))
  }

  @Test(.enabled(if: Shell.python != nil, "COFFER_PYTHON is not set"))
  func `a library written by others verifies what we send, and nothing that was altered`() throws {
    let secret = Base64.standard.encode(Random.bytes(32))
    let key = Secret(try #require(Base64.standard.decode(secret)))
    let request = WebhookReceiver(url: "https://app.example", secrets: [key])
      .request(
        "msg_1", #"{"state":"active"}"#,
        at: Instant(seconds: Clock.system.now().milliseconds / 1000))
    let headers = JSONValue.object(request.headers.map { .init($0.0, .string($0.1)) })
    let script = """
      import json, sys
      from standardwebhooks.webhooks import Webhook, WebhookVerificationError
      secret, headers, body = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
      print(Webhook(secret).verify(body, headers)["state"])
      try:
          Webhook(secret).verify(body.replace("active", "paused"), headers)
      except WebhookVerificationError:
          print("refused")
      """
    let directory = try ScratchDirectory()
    let path = try directory.write(script, to: "verify.py")
    let text = String(decoding: headers.encoded(), as: UTF8.self)
    let python = try #require(Shell.python)
    let judged = Shell.run(
      "'\(python)' '\(path)' '\(secret)' '\(text)' '{\"state\":\"active\"}' 2>&1")
    #expect(judged.output == "active\nrefused\n")
  }
}

/// An app's server that keeps what it receives.
private final class App: ProviderTransport {
  struct Received: Sendable {
    let id: String
    let body: [UInt8]
    let at: Instant
    let arrived: Bool
  }

  private struct State {
    var received: [Received] = []
    var answer: APIFailure?
  }

  private let state = Locked(State())
  private let clock: Clock

  init(_ clock: Clock) { self.clock = clock }

  var received: [Received] { state.withLock { $0.received } }
  var arrived: [Received] { received.filter(\.arrived) }

  /// Its answer instead of 200.
  var answer: APIFailure? {
    get { state.withLock { $0.answer } }
    set { state.withLock { $0.answer = newValue } }
  }

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let headers = Dictionary(request.headers) { first, _ in first }
    let failure = state.withLock { state in
      state.received.append(
        Received(
          id: headers["webhook-id"] ?? "", body: request.body ?? [], at: clock.now(),
          arrived: state.answer == nil))
      return state.answer
    }
    if let failure { throw failure }
    return APIReply(status: 204, headers: Headers([]), body: [], elapsed: .milliseconds(1))
  }
}

/// Billing that sends notices to an app's server, in virtual time.
private final class Desk {
  let database: Database
  let app: App
  private let scratch: ScratchDatabase
  private let clock = Locked(day(1))
  private let rules = LedgerRules(catalogue: AppleSample.catalogue)
  private let service: BillingService

  init(_ engine: TestEngine = .sqlite) throws {
    scratch = try ScratchDatabase(engine, with: .schemas)
    database = try Database.open(scratch.location, owning: .billing)
    let clock = Clock { [clock] in clock.withLock { $0 } }
    app = App(clock)
    service = BillingService(
      database: database, rules: rules, sealing: Harness.sealing, clock: clock,
      stores: StoreList.known(with: AppleStore(verifier: AppleSample.verifier)),
      clients: ClaimingDevice.policy,
      telling: (
        WebhookReceiver(
          url: "https://app.example", secrets: [Secret([UInt8](repeating: 1, count: 32))]), app
      ))
    try service.applyRules()
  }

  deinit { database.close() }

  var now: Instant { clock.withLock { $0 } }
  var location: DatabaseLocation { scratch.location }
  var routes: [Route] { service.routes() }

  func notify(_ transaction: String, at now: Instant) throws -> Int {
    clock.withLock { $0 = max($0, now) }
    let head = RequestHead(
      method: "POST", target: "/webhooks/apple", headers: Headers([]), authority: "billing",
      remoteAddress: "17.0.0.1")
    let route = try #require(routes.first { $0.pattern == head.target })
    let body = AppleSample.notification("n1", transaction, signed: now)
    return try route.admit(head, []).wait().finish(body).wait().status
  }

  /// Decides as an operator's command does, with its own ledger.
  func decide(_ decision: Decision) throws {
    let (ledger, now) = (Ledger(stores: .known, rules: rules), now)
    try database.write(for: nil) { transaction in
      _ = try ledger.decide(decision, at: now, in: transaction)
    }
  }

  /// Runs the jobs that send notices, each when it is due.
  func work(until end: Instant) throws {
    let handler = try #require(service.jobHandlers.first { $0.kind == Notices.job })
    while true {
      let due = try database.read { reader in
        try reader.first(
          "SELECT min(due_ms) FROM billing.jobs WHERE kind = 'notice' AND due_ms IS NOT NULL"
        ) { row in try row.optionalInstant(0) } ?? nil
      }
      guard let due, due <= end else { break }
      clock.withLock { $0 = max($0, due) }
      let now = now
      let leases = try database.write(for: nil) { transaction in
        try Jobs.lease(handler.kind, limit: 10, now: now, in: transaction)
      }
      for lease in leases {
        let result = try handler.run(lease)
        _ = try database.write(for: nil) { transaction in
          try result.commit(lease, now: now, in: transaction).isSettled
        }
      }
    }
    clock.withLock { $0 = max($0, end) }
  }
}
