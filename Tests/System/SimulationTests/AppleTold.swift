import Apple
import Base
import Billing
import Crypto
import HTTPMessages
import JSON
import KnownStores
import ProviderAPI
import ProviderFakes
import Stores
import Stripe
import Subscriptions
import TestCertificates

/// The App Store Server API as it was at the moment that an installation's clock says.
struct PastAppStore: ProviderTransport {
  let store: FakeAppStore
  let base: String
  let now: @Sendable () -> Instant

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let moment = now()
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

enum AppleTales {
  private static let chain = AppleTestChain(
    notBefore: Instant(seconds: 1_600_000_000), notAfter: Instant(seconds: 2_500_000_000))
  private static let signer = AppleSigner(chain)
  private static let key = P256PrivateKey()

  static func record(_ story: AppleStory) -> AppleRecorder {
    story.record(signer: signer, apiKey: key.publicKey)
  }

  static func verifier(_ store: FakeAppStore) -> AppleVerifier {
    AppleVerifier(
      AppleTrust(
        roots: [chain.root.der], bundleID: store.settings.bundleID,
        appAppleID: store.settings.appAppleID)!)
  }

  static func api(
    _ store: FakeAppStore, _ verifier: AppleVerifier, _ clock: Clock
  ) -> AppleAPI {
    let base = "https://apple.fake"
    let settings = store.settings
    return AppleAPI(
      base: base, partition: partition(store),
      key: AppleAPIKey(
        keyID: settings.apiKeyID, issuerID: settings.apiIssuerID, bundleID: settings.bundleID,
        pem: key.pem)!,
      verifier: verifier, transport: PastAppStore(store: store, base: base) { clock.now() },
      clock: clock)
  }

  static func partition(_ store: FakeAppStore) -> ObjectKey.Partition {
    store.settings.environment == .production ? .live : .sandbox
  }

  static func stores(_ store: FakeAppStore, _ stripe: FakeStripe, _ clock: Clock) -> StoreList {
    let verifier = verifier(store)
    return StoreList.known(
      with: StripeStore(secrets: WebhookSecrets(stripe.secrets), api: Live.api(of: stripe, clock)),
      AppleStore(verifier: verifier, apis: [partition(store): api(store, verifier, clock)]))
  }
}

extension Told {
  init(_ story: AppleStory) throws {
    let recorder = AppleTales.record(story)
    let store = recorder.store
    let verifier = AppleTales.verifier(store)
    var parts: [Part] = []
    for delivery in store.deliveries {
      let request = store.request(for: delivery, at: delivery.emitted)
      let verified = try verifier.verify(body: request.body, now: delivery.emitted)
      parts.append(
        Part(
          at: delivery.emitted, what: .facts(try AppleNotification(verified).facts),
          name: store.type(of: delivery)))
    }
    for (decision, at) in recorder.decisions {
      switch decision {
      case .claim(let original):
        let text = store.signedTransaction(for: original)
        let verified = try verifier.verify(transaction: text, now: recorder.clock.now)
        let reading = try AppleTransactionReading(verified)
        parts.append(
          Part(at: at, what: .facts([reading.fact].compactMap { $0 }), name: "claim's transaction"))
        parts.append(
          Part(at: at, what: .claim(reading.subscription, by: recorder.account), name: "claim"))
      case .deleteAccount:
        parts.append(Part(at: at, what: .deletion(recorder.account), name: "deletion"))
      }
    }
    // No later: the next renewal is charged hours before its period.
    let end = recorder.clock.now
    let api = AppleTales.api(store, verifier, .fixed(end))
    self.init(
      name: "apple/\(story.name)", start: parts.map { $0.at }.min() ?? end, end: end,
      parts: parts.sorted { $0.at < $1.at },
      reread: { key in try api.record(of: key.id).facts },
      truth: { moment in
        store.truths(asOf: moment).flatMap { truth in
          (truth.paid + truth.graces).map {
            PaidPeriod(account: truth.account, productID: $0.productID, from: $0.from, to: $0.to)
          }
        }
      })
  }
}

extension Live {
  init(_ story: AppleStory) {
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
        // The fake signs now, which is the story's end.
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
      end: recorder.clock.now + .minutes(10))
  }
}
