import Base
import Billing
import Crypto
import Google
import HTTPMessages
import JSON
import KnownStores
import ProviderAPI
import ProviderFakes
import RecordedStories
import Stores
import Stripe
import Subscriptions

/// Google's API as it was at the moment that an installation's clock says.
final class PastPlay: ProviderTransport {
  private let store: FakePlayStore
  private let now: @Sendable () -> Instant
  /// By our installation, whatever the story's own server did.
  private let acknowledged = Locked<Set<String>>([])

  init(_ store: FakePlayStore, now: @escaping @Sendable () -> Instant) {
    self.store = store
    self.now = now
  }

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let path = request.url.split(separator: "/").map(String.init)
    guard let last = path.last else { throw .malformed("no path") }
    if last == "certs" { return reply(200, StoryKeys.googleKeySet) }
    if last == "token" {
      return reply(200, Array(#"{"access_token":"a","expires_in":3599}"#.utf8))
    }
    if request.method == "POST" {
      acknowledged.withLock { _ = $0.insert(String(last.prefix { $0 != ":" })) }
      return reply(200, Array("{}".utf8))
    }
    let answer =
      path.contains("orders")
      ? store.readOrder(last, asOf: now()) : store.read(last, asOf: now())
    guard acknowledged.withLock({ $0.contains(last) }) else {
      return reply(answer.status, answer.body)
    }
    let text = String(decoding: answer.body, as: UTF8.self)
    let parts = text.split(
      separator: "ACKNOWLEDGEMENT_STATE_PENDING", omittingEmptySubsequences: false)
    return reply(
      answer.status, Array(parts.joined(separator: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED").utf8))
  }

  private func reply(_ status: Int, _ body: [UInt8]) -> APIReply {
    APIReply(status: status, headers: Headers([]), body: body, elapsed: .milliseconds(1))
  }
}

enum GoogleTales {
  private static let issuer = RSAPrivateKey(pem: StoryKeys.googleIssuerKey)!
  private static let service = RSAPrivateKey(pem: StoryKeys.googleServiceKey)!
  private static let account = ServiceAccount(keyFile: Secret(StoryKeys.googleServiceAccount))!

  static func record(_ story: GoogleStory) -> GoogleRecorder {
    story.record(key: issuer, serviceKey: service.publicKey)
  }

  static func stores(_ store: FakePlayStore, _ stripe: FakeStripe, _ clock: Clock) -> StoreList {
    let play = PastPlay(store) { clock.now() }
    let settings = store.settings
    return StoreList.known(
      with: StripeStore(secrets: WebhookSecrets(stripe.secrets), api: Live.api(of: stripe, clock)),
      GoogleStore(
        verifier: GoogleVerifier(
          GoogleTrust(
            package: settings.packageName, audience: settings.audience, email: settings.pushEmail),
          keys: PushKeys(
            url: "https://www.googleapis.com/oauth2/v3/certs", transport: play, clock: clock)),
        api: api(store, clock)))
  }

  static func api(_ store: FakePlayStore, _ clock: Clock) -> GoogleAPI {
    GoogleAPI(
      package: store.settings.packageName, account: account,
      transport: PastPlay(store) { clock.now() }, clock: clock)
  }
}

extension Told {
  /// The reads that a story's notifications ask for, each of its own generation.
  init(_ story: GoogleStory) throws {
    let recorder = GoogleTales.record(story)
    let moment = Locked(recorder.clock.now)
    let api = GoogleTales.api(recorder.store, Clock { moment.withLock { $0 } })
    var generations: [PurchaseToken: Int64] = [:]
    var parts: [Part] = []
    func read(_ token: PurchaseToken, at now: Instant, _ name: String) throws {
      generations[token, default: 0] += 1
      moment.withLock { $0 = now }
      let answer = try api.read(token: token, generation: generations[token]!)
      parts.append(Part(at: now, what: .facts(answer.facts), name: name))
    }
    var happenings: [(at: Instant, what: () throws -> Void)] = []
    for delivery in recorder.store.deliveries {
      let body = recorder.store.request(for: delivery, at: delivery.emitted).body
      guard let token = Self.token(of: body) else { continue }
      // A read after the notification, and the one that confirms it.
      for at in [delivery.emitted + .seconds(2), delivery.emitted + .seconds(62)] {
        happenings.append((at, { try read(token, at: at, recorder.store.type(of: delivery)) }))
      }
    }
    for (decision, at) in recorder.decisions {
      happenings.append(
        (
          at,
          {
            switch decision {
            case .claim(let text):
              guard let token = PurchaseToken(text) else { return }
              try read(token, at: at, "claim's read")
              parts.append(
                Part(at: at, what: .claim(token.objectKey, by: recorder.account), name: "claim"))
            case .deleteAccount:
              parts.append(Part(at: at, what: .deletion(recorder.account), name: "deletion"))
            }
          }
        ))
    }
    for happening in happenings.sorted(by: { $0.at < $1.at }) { try happening.what() }
    let end = recorder.clock.now + .hours(2)
    let known = generations
    self.init(
      name: "google/\(story.name)", start: parts.map { $0.at }.min() ?? end, end: end,
      parts: parts,
      reread: { key in
        guard let (token, generation) = known.first(where: { $0.key.objectKey == key }) else {
          return []
        }
        moment.withLock { $0 = end }
        // Sixty days after its end a purchase cannot be read: what was read last still holds.
        let read = Result { () throws(APIFailure) in
          try api.read(token: token, generation: generation + 1).facts
        }
        return if case .failure(.gone) = read { [] } else { try read.get() }
      },
      truth: { _ in [] })
  }

  private static func token(of body: [UInt8]) -> PurchaseToken? {
    guard let envelope = try? JSON.parse(body),
      let data = envelope["message"]["data"].string.flatMap({ Base64.standard.decode($0) }),
      let json = try? JSON.parse(data)
    else { return nil }
    let text =
      json["subscriptionNotification"]["purchaseToken"].string
      ?? json["voidedPurchaseNotification"]["purchaseToken"].string
    return text.flatMap { PurchaseToken($0) }
  }
}

extension Live {
  init(_ story: GoogleStory) {
    let recorder = GoogleTales.record(story)
    let store = recorder.store
    var events = store.deliveries.map { delivery in
      Event(at: delivery.emitted, what: .delivery({ store.request(for: delivery, at: $0) }))
    }
    events += recorder.stripe.deliveries.map { [stripe = recorder.stripe] delivery in
      Event(at: delivery.emitted, what: .delivery({ stripe.request(for: delivery, at: $0) }))
    }
    for (decision, at) in recorder.decisions {
      switch decision {
      case .claim(let token):
        events.append(
          Event(
            at: at,
            what: .posted(
              ["provider": "google", "token": .string(token)], by: recorder.account)))
      case .deleteAccount:
        events.append(Event(at: at, what: .deletion(recorder.account)))
      }
    }
    let stripe = recorder.stripe
    events.sort { $0.at < $1.at }
    // Not at the story's end, when what is long over can no more be read.
    let end = events.last?.at ?? recorder.clock.now
    self.init(
      name: "google/\(story.name)", events: events,
      stores: { clock in GoogleTales.stores(store, stripe, clock) }, end: end + .minutes(10))
  }
}
