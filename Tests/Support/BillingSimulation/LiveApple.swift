package import Apple
package import Base
import Crypto
import HTTPMessages
import JSON
import KnownStores
import ProviderAPI
package import ProviderFakes
package import Stores
import Stripe
import TestCertificates
package import Tiers

/// The App Store Server API as it was at the time of an installation's clock.
struct PastAppStore: ProviderTransport {
  let store: FakeAppStore
  let base: String
  let now: @Sendable () -> Instant

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    if let failure = store.faults.failureOfNextRequest() { throw failure.apiFailure }
    let moment = now() - store.faults.replicaLag
    let answer = store.answer(
      FakeRequest(
        method: request.method, path: String(request.url.dropFirst(base.utf8.count)),
        headers: request.headers.map { ($0.0, $0.1) }, body: request.body ?? []), asOf: moment)
    return APIReply(
      status: answer.status,
      headers: Headers(answer.headers.map { ($0.name, $0.value) }),
      body: answer.body, elapsed: .milliseconds(20))
  }
}

package enum AppleTales {
  private static let chain = AppleTestChain(
    notBefore: Instant(seconds: 1_600_000_000), notAfter: Instant(seconds: 2_500_000_000))
  private static let signer = AppleSigner(chain)
  private static let key = P256PrivateKey()

  /// A store in which nothing was sold.
  package static func store(_ clock: FakeClock) -> FakeAppStore {
    var settings = FakeAppStore.Settings()
    settings.apiKey = key.publicKey
    return FakeAppStore(clock: clock, signer: signer, settings: settings)
  }

  /// The store as our installation uses it.
  package static func asStore(_ store: FakeAppStore, _ clock: Clock) -> AppleStore {
    let verifier = verifier(store)
    return AppleStore(verifier: verifier, apis: [environment(store): [api(store, verifier, clock)]])
  }

  package static func record(_ story: AppleStory) -> AppleRecorder {
    story.record(signer: signer, apiKey: key.publicKey)
  }

  package static func verifier(_ store: FakeAppStore) -> AppleVerifier {
    AppleVerifier(
      AppleTrust(
        roots: [chain.root.der], bundleID: store.settings.bundleID,
        appAppleID: store.settings.appAppleID)!)
  }

  package static func api(
    _ store: FakeAppStore, _ verifier: AppleVerifier, _ clock: Clock
  ) -> AppleAPI {
    let base = "https://apple.fake"
    let settings = store.settings
    return AppleAPI(
      base: base, environment: environment(store),
      key: AppleAPIKey(
        keyID: settings.apiKeyID, issuerID: settings.apiIssuerID, bundleID: settings.bundleID,
        pem: key.pem)!,
      verifier: verifier, transport: PastAppStore(store: store, base: base) { clock.now() },
      clock: clock)
  }

  package static func environment(_ store: FakeAppStore) -> StoreEnvironment {
    store.settings.environment == .production ? .live : .sandbox
  }

  package static func stores(_ store: FakeAppStore, _ stripe: FakeStripe, _ clock: Clock)
    -> StoreList
  {
    let verifier = verifier(store)
    return StoreList.known(
      with: StripeStore(secrets: WebhookSecrets(stripe.secrets), api: Live.api(of: stripe, clock)),
      AppleStore(verifier: verifier, apis: [environment(store): [api(store, verifier, clock)]]))
  }
}

extension Live {
  package init(_ story: AppleStory) {
    let recorder = AppleTales.record(story)
    let (store, stripe) = (recorder.store, recorder.stripe)
    var events = store.deliveries.map { delivery in
      Event(at: delivery.emitted, what: .delivery({ store.request(for: delivery, at: $0) }))
    }
    events += stripe.deliveries.map { delivery in
      Event(at: delivery.emitted, what: .delivery({ stripe.request(for: delivery, at: $0) }))
    }
    for (decision, at) in recorder.decisions {
      switch decision {
      case .claim(let original):
        // The fake signs at the present time, which is the story's end.
        events.append(
          Event(
            at: recorder.clock.now,
            what: .posted(
              [
                "provider": "apple",
                "transaction": .string(store.signedTransaction(for: original)),
              ], by: recorder.account)))
      case .deleteAccount:
        events.append(Event(at: at, what: .deletion(recorder.account)))
      }
    }
    self.init(
      name: "apple/\(story.name)", events: events.sorted { $0.at < $1.at },
      stores: { clock in AppleTales.stores(store, stripe, clock) },
      end: recorder.clock.now + .minutes(10), faults: [store.faults, stripe.faults])
  }
}
