import Base
import BillingSimulation
import Configuration
import Crypto
import Google
import HTTPMessages
import JSON
import Jobs
import KnownStores
import Ledger
import ProviderAPI
import ProviderFakes
import RecordedStories
import Storage
import Stores
import Subscriptions
import TestEngines
import Testing

/// A Google Play that continues to sell while the installation gets its pushes, reads and acknowledges.
final class PlayShop {
  static let account = Identifier(high: 0x1111_2222_3333_4444, low: 0x8555_6666_7777_8888)

  let store: FakePlayStore
  let installation: Installation
  private let clock: FakeClock

  init(_ engine: TestEngine = .sqlite, refundAnswers: RefundAnswers = .off) throws {
    let clock = FakeClock(Instant(milliseconds: 1_772_532_120_512))
    var settings = FakePlayStore.Settings()
    let service = try #require(RSAPrivateKey(pem: StoryKeys.googleServiceKey))
    let issuer = try #require(RSAPrivateKey(pem: StoryKeys.googleIssuerKey))
    settings.serviceKey = service.publicKey
    let store = FakePlayStore(
      clock: clock, issuer: GoogleIssuer(keys: [issuer]), settings: settings)
    self.store = store
    self.clock = clock
    var policies = Installation.Policies()
    policies.refundAnswers = refundAnswers
    installation = try Installation(engine, with: policies) { clock in
      StoreList.known(with: LivePlay.store(store, clock))
    }
    installation.now = clock.now
  }

  static func key(_ token: String) throws -> ObjectKey {
    try #require(PurchaseToken(token)).objectKey
  }

  /// Lets time pass at the store and in the installation. Every ten minutes, due pushes and work are done.
  func pass(_ span: Instant.Span) throws {
    let end = clock.now + span
    while clock.now < end { try go(to: min(clock.now + .minutes(10), end)) }
  }

  /// Lets time pass while the installation does nothing and receives nothing.
  func beAway(_ span: Instant.Span) {
    clock.advance(by: span)
    installation.now = clock.now
    store.catchUp()
  }

  /// The same, except that pushes were accepted and lost with the installation, as after the restore of a
  /// backup.
  func lose(_ span: Instant.Span) {
    beAway(span)
    for delivery in store.dueDeliveries { store.answered(delivery, status: 200) }
  }

  private func go(to moment: Instant) throws {
    clock.set(moment)
    installation.now = moment
    for delivery in store.dueDeliveries {
      let status = try installation.deliver(store.request(for: delivery, at: moment))
      store.answered(delivery, status: status)
    }
    try installation.runDue()
  }

  func claim(_ token: String) throws {
    let status = try installation.post(
      ["provider": "google", "token": .string(token)], by: Self.account)
    #expect(status == 200 || status == 202)
  }

  func decide(_ decision: Decision) throws {
    try installation.decide { ledger, transaction, now in
      try ledger.decide(decision, at: now, in: transaction)
    }
  }

  func transfer(_ token: String) throws {
    try decide(.transfer(Self.account, Self.key(token), note: "support"))
  }

  /// The job that acknowledges the purchase to Google; nil if it was never requested.
  func acknowledgement(of token: String) throws -> JobSummary? {
    let object = try Self.key(token).description
    return try installation.database.read { reader in
      try Jobs.find("acknowledge", object, reading: reader)
    }
  }

  func isAcknowledgedInTime(_ token: String) -> Bool? {
    store.truth(of: token).wasAcknowledgedInTime(at: clock.now)
  }
}

/// The store's own answers at the store's own time.
struct LivePlay: ProviderTransport {
  private let store: FakePlayStore

  /// A store that is read in this way.
  static func store(_ store: FakePlayStore, _ clock: Clock) -> GoogleStore {
    guard let account = ServiceAccount(keyFile: Secret(StoryKeys.googleServiceAccount)) else {
      preconditionFailure("the key of the stories is none")
    }
    let (play, settings) = (LivePlay(store: store), store.settings)
    return GoogleStore(
      verifier: GoogleVerifier(
        GoogleTrust(
          packages: [settings.packageName], audience: settings.audience,
          email: settings.pushEmail),
        keys: PushKeys(
          url: "https://www.googleapis.com/oauth2/v3/certs", transport: play, clock: clock)),
      apis: [
        GoogleAPI(
          package: settings.packageName, account: account, transport: play, clock: clock)
      ])
  }

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let parts = request.url.split(separator: "/", maxSplits: 2)
    let fake = FakeRequest(
      method: request.method, path: "/" + (parts.last ?? ""),
      headers: request.headers.map { ($0.0, $0.1) }, body: request.body ?? [])
    guard let answer = store.answer(fake) else { throw .transient("timeout", retryAfter: nil) }
    let reply = APIReply(
      status: answer.status, headers: Headers(answer.headers.map { ($0.name, $0.value) }),
      body: answer.body, elapsed: .milliseconds(20))
    if let failure = reply.transientFailure { throw failure }
    return reply
  }
}
