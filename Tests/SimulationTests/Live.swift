import Base
import Billing
import Crypto
import HTTPMessages
import ProviderFakes
import Stripe
import Subscriptions

/// A story as an installation lives through it: signed requests, our own decisions, an API to ask.
struct Live: Sendable {
  let name: String
  let events: [Event]
  let stores: @Sendable (Clock) -> Stores
  /// When the store's API is asked what it knows at the end.
  let end: Instant

  struct Event: Sendable {
    let at: Instant
    let what: What
  }

  enum What: Sendable {
    /// Signed anew at every attempt.
    case delivery(@Sendable (Instant) -> FakeRequest)
    case claim(ObjectKey, by: Identifier)
    case deletion(Identifier)
  }

  var deliveries: [Int] {
    events.indices.filter { if case .delivery = events[$0].what { true } else { false } }
  }
}

extension Live {
  init(_ story: StripeStory, _ version: StripeVersion) {
    let stripe = story.makeStripe(version)
    let decisions = story.run(stripe)
    var events = stripe.deliveries.map { delivery in
      Event(
        at: delivery.emitted, what: .delivery({ stripe.request(for: delivery, at: $0) }))
    }
    for decision in decisions {
      switch decision {
      case .deleteAccount(let account, let moment):
        events.append(Event(at: moment, what: .deletion(account)))
      case .claim(let subscription, let account, let moment):
        let key = ObjectKey(
          provider: .stripe, partition: .live, kind: .subscription, id: subscription)
        events.append(Event(at: moment, what: .claim(key, by: account)))
      }
    }
    stripe.run(for: .minutes(10))
    let base = "https://stripe.fake"
    self.init(
      name: "stripe/\(version.rawValue)/\(story.name)", events: events.sorted { $0.at < $1.at },
      stores: { clock in
        Stores(
          stripe: WebhookSecrets(stripe.secrets),
          stripeAPI: StripeAPI(
            base: base, key: stripe.key, partition: .live,
            transport: FakeTransport(base: base) { request in
              // The API lives in our virtual time, too.
              if stripe.clock.now < clock.now() { stripe.run(until: clock.now()) }
              return stripe.answer(request)
            }))
      }, end: stripe.clock.now)
  }
}
