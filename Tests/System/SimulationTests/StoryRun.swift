import Base
import BillingSimulation
import ProviderAPI
import ProviderFakes
import Stores
import Stripe
import Subscriptions
import Tiers

/// A complete story: what was delivered, what our own server decided, what the store knows.
struct StoryRun: CustomStringConvertible {
  let name: String
  let start: Instant
  let end: Instant
  let parts: [Part]
  /// Reads a subscription's record as the store shows it at the end.
  let reread: (ObjectKey) throws -> [Fact]
  /// The paid periods, with account and product, as the sales oracle knew them at a moment.
  let truth: @Sendable (Instant) -> [PaidPeriod]
  /// Parts whose content no read contains.
  var irreparable: Set<Int> = []

  /// Something that arrives, at the time at which it happened.
  struct Part {
    let at: Instant
    let what: What
    /// For a failure's message.
    let name: String
  }

  enum What {
    case facts([Fact])
    case claim(ObjectKey, by: Identifier)
    case deletion(Identifier)
  }

  var description: String { name }

  /// The ledger after these parts, in this order.
  func ledger(_ order: [Int]) -> MemoryLedger {
    var ledger = MemoryLedger()
    for index in order {
      switch parts[index].what {
      case .facts(let facts): ledger.join(facts, delivery: Int64(index) + 1)
      // Our own decisions have fixed places in the database's sequence, whatever arrives around them.
      case .claim(let key, let account):
        ledger.claim(key, by: account, sequence: Int64(index) + 1)
      case .deletion(let account): ledger.delete(account, sequence: Int64(index) + 1)
      }
    }
    return ledger
  }

  func digest(_ order: [Int]) -> Digest { digest(ledger(order)) }

  func digest(_ ledger: MemoryLedger) -> Digest {
    Digest(ledger, catalogue: simulationCatalogue, until: end)
  }

  /// The parts that are deliveries. Decisions keep their own order.
  var deliveries: [Int] {
    parts.indices.filter { if case .facts = parts[$0].what { true } else { false } }
  }
}

extension StoryRun {
  init(_ story: StripeStory, _ version: StripeVersion) throws {
    let stripe = story.makeStripe(version)
    let start = stripe.clock.now
    let decisions = story.run(stripe)
    guard let secrets = WebhookSecrets(stripe.secrets) else {
      preconditionFailure("a fake has no secret")
    }
    var parts = try stripe.deliveries.map { delivery in
      let request = stripe.request(for: delivery, at: delivery.emitted)
      let verified = try secrets.verify(
        headers: [Array((request.header("stripe-signature") ?? "").utf8)], body: request.body,
        now: delivery.emitted)
      return Part(
        at: delivery.emitted, what: .facts(try StripeEvent(verified).facts),
        name: stripe.type(of: delivery))
    }
    for decision in decisions {
      switch decision {
      case .deleteAccount(let account, let moment):
        parts.append(Part(at: moment, what: .deletion(account), name: "deletion"))
      case .claim(let subscription, let account, let moment):
        let key = ObjectKey(
          provider: .stripe, environment: .live, kind: .subscription, id: subscription)
        parts.append(Part(at: moment, what: .claim(key, by: account), name: "claim"))
      }
    }
    let base = "https://stripe.fake"
    let api = StripeAPI(
      base: base, key: stripe.key, environment: .live,
      transport: FakeTransport(base: base) { stripe.answer($0) })
    stripe.run(for: .minutes(10))
    self.init(
      name: "stripe/\(version.rawValue)/\(story.name)", start: start, end: stripe.clock.now,
      parts: parts.sorted { $0.at < $1.at },
      reread: { key in try api.record(of: key.id).facts },
      truth: { moment in
        stripe.sales(asOf: moment).map {
          PaidPeriod(account: $0.account, productID: $0.product, from: $0.from, to: $0.to)
        }
      })
  }
}
