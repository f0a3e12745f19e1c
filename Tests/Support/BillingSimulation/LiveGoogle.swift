package import Base
import Crypto
package import Google
import HTTPMessages
import JSON
import KnownStores
import ProviderAPI
package import ProviderFakes
import RecordedStories
package import Stores
import Stripe

/// Google's API as it was at the time of an installation's clock.
final class PastPlay: ProviderTransport {
  private let store: FakePlayStore
  private let now: @Sendable () -> Instant
  /// Acknowledged by our installation, whatever the story's own server did.
  private let acknowledged = Locked<Set<String>>([])

  init(_ store: FakePlayStore, now: @escaping @Sendable () -> Instant) {
    self.store = store
    self.now = now
  }

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    if let failure = store.faults.failureOfNextRequest() { throw failure.apiFailure }
    let moment = now() - store.faults.replicaLag
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
    if last.hasPrefix("voidedpurchases") {
      let answer = store.voided(String(last), asOf: moment)
      return reply(answer.status, answer.body)
    }
    if last.hasPrefix("orders:batchGet") {
      let answer = store.orders(last, asOf: moment)
      return reply(answer.status, answer.body)
    }
    let answer =
      path.contains("orders")
      ? store.readOrder(last, asOf: moment) : store.read(last, asOf: moment)
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

package enum GoogleTales {
  private static let issuer = RSAPrivateKey(pem: StoryKeys.googleIssuerKey)!
  private static let service = RSAPrivateKey(pem: StoryKeys.googleServiceKey)!
  private static let account = ServiceAccount(keyFile: Secret(StoryKeys.googleServiceAccount))!

  package static func record(_ story: GoogleStory) -> GoogleRecorder {
    story.record(key: issuer, serviceKey: service.publicKey)
  }

  package static func stores(_ store: FakePlayStore, _ stripe: FakeStripe, _ clock: Clock)
    -> StoreList
  {
    let play = PastPlay(store) { clock.now() }
    let settings = store.settings
    return StoreList.known(
      with: StripeStore(secrets: WebhookSecrets(stripe.secrets), api: Live.api(of: stripe, clock)),
      GoogleStore(
        verifier: GoogleVerifier(
          GoogleTrust(
            packages: [settings.packageName], audience: settings.audience,
            email: settings.pushEmail),
          keys: PushKeys(
            url: "https://www.googleapis.com/oauth2/v3/certs", transport: play, clock: clock)),
        apis: [api(store, clock)]))
  }

  package static func api(_ store: FakePlayStore, _ clock: Clock) -> GoogleAPI {
    GoogleAPI(
      package: store.settings.packageName, account: account,
      transport: PastPlay(store) { clock.now() }, clock: clock)
  }
}

extension Live {
  package init(_ story: GoogleStory) {
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
    // Not the story's end, when purchases that ended long ago can no longer be read.
    let end = events.last?.at ?? recorder.clock.now
    self.init(
      name: "google/\(story.name)", events: events,
      stores: { clock in GoogleTales.stores(store, stripe, clock) }, end: end + .minutes(10),
      faults: [store.faults, stripe.faults])
  }
}
