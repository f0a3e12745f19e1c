import Base
import Billing
import ClaimingDevice
import Configuration
import Crypto
import Endpoints
import Google
import HTTPMessages
import HTTPServer
import JSON
import Jobs
import KnownStores
import Ledger
import ProviderAPI
import RecordedStories
import Storage
import Stores
import Stripe
import Subscriptions
import TestEngines
import Testing
import Tiers

/// Every story under webhooks/google/, pushed and read through a real database.
struct RecordedGoogleStoryTests {
  @Test(arguments: RecordedGoogleStory.all, TestEngine.available)
  func `every push is answered, read and acknowledged, and leaves what it must`(
    story: RecordedGoogleStory, engine: TestEngine
  ) throws {
    let play = RecordedPlay(story)
    let installation = try GoogleInstallation(story, play, engine)
    for (index, step) in story.steps.enumerated() {
      let place = "step \(index + 1), \(step.delivery?.name ?? "clock")"
      installation.now = step.at
      play.show(step)
      if let request = step.delivery {
        #expect(try installation.post(request) == step.answer, "\(place)")
      }
      if let token = step.claim { try installation.claim(token) }
      if step.deletesAccount { try installation.deleteAccount() }
      try installation.runJobs()
      for token in step.acknowledges {
        #expect(play.acknowledged.contains(token), "\(place) leaves a purchase unacknowledged")
      }
      if let expected = step.expected {
        let found = try installation.found(labelsOf: expected.labels?.keys.map { $0 })
        #expect(found == expected, "\(place)")
      }
    }
  }
}

/// Google's key set, token endpoint and purchases API, answering what the story recorded.
private final class RecordedPlay: ProviderTransport {
  private struct State {
    var reads: [String: RecordedGoogleStory.Read] = [:]
    var orders: [String: [UInt8]] = [:]
    var acknowledged: Set<String> = []
  }

  private let state = Locked(State())
  private let tokens: [String]

  init(_ story: RecordedGoogleStory) { tokens = Array(story.tokens.values) }

  func show(_ step: RecordedGoogleStory.Step) {
    state.withLock { state in
      state.reads.merge(step.reads) { $1 }
      state.orders.merge(step.orders) { $1 }
    }
  }

  var acknowledged: Set<String> { state.withLock { $0.acknowledged } }

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    if request.url.hasSuffix("/certs") { return reply(200, RecordedGoogleStory.keySet) }
    if request.url.hasSuffix("/token") {
      return reply(200, Array(#"{"access_token":"a","expires_in":3599}"#.utf8))
    }
    if request.method == "POST" {
      guard let token = tokens.first(where: { request.url.contains("/\($0):acknowledge") }) else {
        return reply(404, [])
      }
      state.withLock { _ = $0.acknowledged.insert(token) }
      return reply(200, Array("{}".utf8))
    }
    let name = request.url.split(separator: "/").last.map(String.init) ?? ""
    return state.withLock { state in
      if let order = state.orders[name] { return reply(200, order) }
      switch state.reads[name] {
      case .purchase(let body): return reply(200, body)
      case .refused(let status): return reply(status, [])
      case nil: return reply(404, [])
      }
    }
  }

  private func reply(_ status: Int, _ body: [UInt8]) -> APIReply {
    APIReply(status: status, headers: Headers([]), body: body, elapsed: .milliseconds(1))
  }
}

private final class GoogleInstallation {
  private let story: RecordedGoogleStory
  private let database: Database
  private let service: BillingService
  private let scratch: ScratchDatabase
  private let clock = Locked(Instant(seconds: 0))
  private let catalogue: Catalogue

  init(
    _ story: RecordedGoogleStory, _ play: RecordedPlay, _ engine: TestEngine
  ) throws {
    self.story = story
    catalogue = try CatalogueFile.catalogue(of: RecordedGoogleStory.catalogue)
    scratch = try ScratchDatabase(engine)
    database = try Database.open(scratch.location, owning: .billing)
    let clock = Clock { [clock] in clock.withLock { $0 } }
    let account = try #require(
      ServiceAccount(keyFile: Secret(RecordedGoogleStory.serviceAccount)))
    service = BillingService(
      database: database, rules: LedgerRules(catalogue: catalogue), sealing: Harness.sealing,
      clock: clock,
      stores: StoreList.known(
        with: StripeStore(secrets: story.stripeSecret.flatMap { WebhookSecrets([$0]) }),
        GoogleStore(
          verifier: GoogleVerifier(
            GoogleTrust(package: story.packageName, audience: story.audience, email: story.email),
            keys: PushKeys(
              url: "https://www.googleapis.com/oauth2/v3/certs", transport: play, clock: clock)),
          api: GoogleAPI(
            package: story.packageName, account: account, transport: play, clock: clock))),
      claims: ClaimingDevice.policy)
  }

  deinit { database.close() }

  var now: Instant {
    get { clock.withLock { $0 } }
    set { clock.withLock { $0 = newValue } }
  }

  func post(_ request: RecordedRequest) throws -> RecordedStory.Answer {
    let path = request.requestLine.split(separator: " ")[1]
    let route = try #require(service.routes().first { $0.pattern == path })
    let names = ["Authorization", "Stripe-Signature"]
    let head = RequestHead(
      method: "POST", target: String(path),
      headers: Headers(names.compactMap { name in request.header(name).map { (name, $0) } }),
      authority: "billing")
    let response: Response
    do {
      response = try route.admit(head, []).wait().finish(request.body).wait()
    } catch {
      response = problem(for: error, head).response(requestID: "r")
    }
    guard case .bytes(let bytes) = response.body else {
      return RecordedStory.Answer(status: response.status, word: "")
    }
    let json = try JSON.parse(bytes)
    let word = json["status"].string ?? json["type"].string ?? ""
    return RecordedStory.Answer(
      status: response.status, word: word.split(separator: ":").last.map(String.init) ?? word)
  }

  /// The app posts the token, signed by a device of the account.
  func claim(_ token: String) throws {
    let device = try ClaimingDevice(of: story.account, scratch.location)
    let answer = try device.claim(
      ["provider": "google", "token": .string(token)], at: now, through: service.routes())
    #expect(answer.status == 200 || answer.status == 202, "\(answer.word)")
  }

  func deleteAccount() throws {
    let (now, account) = (now, story.account)
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))
    try database.write(for: nil) { transaction in
      _ = try ledger.decide(.accountDeleted(account), at: now, in: transaction)
    }
  }

  /// Runs what is due, and what that makes due at once; confirming reads wait for their minute.
  func runJobs() throws {
    for _ in 0..<20 {
      var count = 0
      for handler in service.jobHandlers {
        let now = now
        let leases = try database.write(for: nil) { transaction in
          try Jobs.lease(handler.kind, limit: 10, now: now, in: transaction)
        }
        for lease in leases {
          count += 1
          do throws(JobFailure) {
            let result = try handler.run(lease)
            try commit(result, lease)
          } catch {
            Issue.record("\(lease.kind): \(error)")
          }
        }
      }
      if count == 0 { return }
    }
    Issue.record("the jobs never settle")
  }

  private func commit(_ result: JobResult, _ lease: Lease) throws(JobFailure) {
    let now = now
    do {
      try database.write(for: nil) { transaction in
        try result.commit(lease, now: now, in: transaction).committed
      }()
    } catch {
      throw .refused("\(error)")
    }
  }

  func found(labelsOf tokens: [String]?) throws -> RecordedGoogleStory.Expectation {
    let explanation = try database.read { reader in
      try EntitlementExplanation(
        of: story.account, at: now, catalogue: catalogue, stores: .known, reading: reader)
    }
    var labels: [String: String]?
    if let tokens {
      labels = [:]
      for token in tokens {
        let key = try #require(PurchaseToken(token)).objectKey
        labels?[token] = explanation.subscriptions.first { $0.key == key }?.label.rawValue
      }
    }
    return RecordedGoogleStory.Expectation(
      capByteCount: explanation.current.capByteCount, planID: explanation.current.planID,
      reason: explanation.current.reason.rawValue, labels: labels)
  }
}
