package import Base
package import JSON
import KnownStores
package import ProviderFakes
package import Stores
package import Stripe
package import Subscriptions
import Tiers

/// A story as an installation experiences it: signed requests, our own decisions, and an API to read.
package struct Live: Sendable {
  package let name: String
  package let events: [Event]
  package let stores: @Sendable (Clock) -> StoreList
  /// When the store's API is read at the end.
  package let end: Instant
  /// The faults of the APIs of the story's stores.
  package let faults: [FakeFaults]
  /// Deliveries with content that no read shows.
  package var irreparable: Set<Int> = []

  package struct Event: Sendable {
    package let at: Instant
    package let what: What

    package init(at: Instant, what: What) {
      self.at = at
      self.what = what
    }
  }

  package init(
    name: String, events: [Event], stores: @escaping @Sendable (Clock) -> StoreList, end: Instant,
    faults: [FakeFaults]
  ) {
    self.name = name
    self.events = events
    self.stores = stores
    self.end = end
    self.faults = faults
  }

  package enum What: Sendable {
    /// Signed again at every attempt.
    case delivery(@Sendable (Instant) -> FakeRequest)
    case claim(ObjectKey, by: Identifier)
    /// A device of the account posts a claim, signed.
    case posted(JSONValue, by: Identifier)
    case deletion(Identifier)
  }

  package var deliveries: [Int] {
    events.indices.filter { if case .delivery = events[$0].what { true } else { false } }
  }
}

extension Live {
  package init(
    _ story: StripeStory, _ version: StripeVersion, events: StripeSettings.Events = .usual
  ) {
    let stripe = story.makeStripe(version, events: events)
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
          provider: .stripe, environment: .live, kind: .subscription, id: subscription)
        events.append(Event(at: moment, what: .claim(key, by: account)))
      }
    }
    stripe.run(for: .minutes(10))
    self.init(
      name: "stripe/\(version.rawValue)/\(story.name)", events: events.sorted { $0.at < $1.at },
      stores: { clock in
        StoreList.known(
          with: StripeStore(
            secrets: WebhookSecrets(stripe.secrets), api: Self.api(of: stripe, clock)))
      }, end: stripe.clock.now, faults: [stripe.faults])
  }

  /// A fake Stripe's API in an installation's virtual time.
  package static func api(of stripe: FakeStripe, _ clock: Clock) -> StripeAPI {
    let base = "https://stripe.fake"
    return StripeAPI(
      base: base, key: stripe.key, environment: .live,
      transport: FakeTransport(base: base) { request in
        if stripe.clock.now < clock.now() { stripe.run(until: clock.now()) }
        return stripe.answer(request)
      })
  }
}
