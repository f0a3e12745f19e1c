import Apple
import Base
import Billing
import Configuration
import HTTPMessages
import JSON
import ProviderAPI
import ProviderFakes
import RecordedStories
import Stripe
import Subscriptions
import Tiers

/// A story told to its end: what was delivered, what our own server decided, what the store knows.
struct Told: CustomStringConvertible {
  let name: String
  let start: Instant
  let end: Instant
  let parts: [Part]
  /// Reads a subscription's record as the store shows it at the end.
  let reread: (ObjectKey) throws -> [Fact]
  /// Who had paid for what until when, as the till knew it at a moment.
  let truth: @Sendable (Instant) -> [PaidPeriod]
  /// Parts that tell what no read tells as well.
  var irreparable: Set<Int> = []

  /// What arrives, in the order in which it happened.
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

  /// The ledger after those parts, in that order.
  func ledger(_ order: [Int]) -> MemoryLedger {
    var ledger = MemoryLedger()
    for index in order {
      switch parts[index].what {
      case .facts(let facts): ledger.join(facts, source: Int64(index) + 1)
      // Our own decisions have their place in the database's sequence, whatever arrives around them.
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

  /// Which parts are deliveries; decisions keep their order among themselves.
  var deliveries: [Int] {
    parts.indices.filter { if case .facts = parts[$0].what { true } else { false } }
  }
}

let simulationCatalogue: Catalogue = {
  do {
    return try Catalogue(
      version: "simulation",
      free: Plan(id: "free", title: "Free", byteCount: 1_000_000),
      paid: [
        Plan(
          id: "premium", title: "Premium", byteCount: 30_000_000_000,
          products: [
            Plan.Product(provider: "stripe", id: StripePrice.premiumMonthly.product),
            Plan.Product(provider: "apple", id: "com.example.coffer.premium.monthly"),
            Plan.Product(provider: "apple", id: "com.example.coffer.premium.yearly"),
            Plan.Product(provider: "google", id: "premium"),
            .btcpay(.premiumMonth), .btcpay(.premiumYear),
          ]),
        Plan(
          id: "plus", title: "Plus", byteCount: 200_000_000_000,
          products: [
            Plan.Product(provider: "stripe", id: StripePrice.plusMonthly.product),
            Plan.Product(provider: "apple", id: "com.example.coffer.plus.monthly"),
            Plan.Product(provider: "google", id: "plus"),
            .btcpay(.plusMonth),
          ]),
        Plan(
          id: "extra", title: "Extra", byteCount: 2_000_000_000, isAddition: true,
          products: [
            Plan.Product(provider: "stripe", id: StripePrice.extraMonthly.product),
            Plan.Product(provider: "google", id: "extra"),
            .btcpay(.extraMonth),
          ]),
      ],
      ignored: [
        Plan.Product(provider: "stripe", id: StripePrice.stickersMonthly.product),
        .btcpay(.stickers),
      ])
  } catch {
    preconditionFailure("\(error)")
  }
}()

extension Plan.Product {
  fileprivate static func btcpay(_ product: BTCPayProduct) -> Plan.Product {
    Plan.Product(
      provider: "btcpay", id: product.itemCode,
      price: Plan.Price(
        amountMinorUnits: product.cents, currency: "eur",
        interval: product.months == 12 ? .year : .month))
  }
}

/// A store's API called without a socket.
struct FakeTransport: ProviderTransport {
  let base: String
  let answer: @Sendable (FakeRequest) -> FakeAnswer?

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let path = String(request.url.dropFirst(base.utf8.count))
    let fake = FakeRequest(
      method: request.method, path: path, headers: request.headers.map { ($0.0, $0.1) },
      body: request.body ?? [])
    guard let answer = answer(fake) else { throw .transient("timeout", retryAfter: nil) }
    let reply = APIReply(
      status: answer.status, headers: Headers(answer.headers.map { ($0.name, $0.value) }),
      body: answer.body, elapsed: .milliseconds(20))
    if let failure = reply.transientFailure { throw failure }
    return reply
  }
}

extension Told {
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
          provider: .stripe, partition: .live, kind: .subscription, id: subscription)
        parts.append(Part(at: moment, what: .claim(key, by: account), name: "claim"))
      }
    }
    let base = "https://stripe.fake"
    let api = StripeAPI(
      base: base, key: stripe.key, partition: .live,
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
