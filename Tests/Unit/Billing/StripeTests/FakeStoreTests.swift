import Base
import HTTPMessages
import ProviderAPI
import ProviderFakes
import SeededRandom
import Stores
import Stripe
import Subscriptions
import TestEngines
import Testing
import Tiers

/// The decoder, the fold and the read client, tested with a Stripe that knows what it sold.
struct FakeStoreTests {
  struct Case: Sendable, CustomStringConvertible {
    let story: StripeStory
    let version: StripeVersion

    var description: String { "\(version.rawValue)/\(story.name)" }
  }

  static let cases = StripeVersion.allCases.flatMap { version in
    StripeStory.all.map { Case(story: $0, version: version) }
  }

  /// For tests of the fold rather than of a version's form. In a short run each story has one version, in
  /// turn.
  static let some =
    TestRun.isFull
    ? cases
    : StripeStory.all.enumerated().map { index, story in
      Case(story: story, version: StripeVersion.allCases[index % StripeVersion.allCases.count])
    }

  @Test(arguments: cases)
  func `who paid has what was paid for, and nobody what was not`(it: Case) throws {
    let run = try StoryRun(it)
    let sales = run.stripe.subscriptions.flatMap { run.stripe.sales(of: $0) }
    for (key, coverage) in run.coverages(run.facts) {
      let sold = sales.filter { $0.subscription == key.id && run.planID($0) != nil }
      for sale in sold {
        for moment in [sale.from, sale.to - .seconds(1)] {
          let plans = coverage.intervals.filter { $0.from <= moment && moment < $0.to }
          #expect(
            plans.contains { run.size($0.planID) >= run.size(run.planID(sale)!) },
            "\(it): \(sale) at \(moment) has \(plans)")
        }
      }
      for interval in coverage.intervals where interval.why == .subscribed {
        let moment = interval.to - .seconds(1)
        // Includes sales that were valid then and have been taken back since.
        let stood = sold + run.stripe.sales(asOf: moment).filter { $0.subscription == key.id }
        #expect(
          stood.contains { $0.from <= moment && moment < $0.to }, "\(it): \(interval) of \(stood)")
      }
    }
  }

  @Test(arguments: some)
  func `a read at the end tells all that the deliveries told`(it: Case) throws {
    let run = try StoryRun(it)
    let read = try run.read()
    #expect(run.coverages(read) == run.coverages(run.facts), "\(it)")
    #expect(run.coverages(run.facts + read) == run.coverages(run.facts), "\(it)")
  }

  @Test(arguments: some)
  func `a read makes up for any delivery that was lost`(it: Case) throws {
    let run = try StoryRun(it)
    let read = try run.read()
    let expected = run.coverages(run.facts)
    for index in run.facts.indices {
      var facts = run.facts
      facts.remove(at: index)
      #expect(run.coverages(facts + read) == expected, "\(it), without \(run.types[index])")
    }
  }

  @Test(arguments: some)
  func `a read of a replica that lags is settled by a later one`(it: Case) throws {
    let run = try StoryRun(it)
    let expected = run.coverages(run.facts)
    run.stripe.faults.setReplicaLag(.seconds(5))
    let stale = try run.read(after: .seconds(0))
    run.stripe.faults.setReplicaLag(.seconds(0))
    let fresh = try run.read()
    #expect(run.coverages(stale + fresh) == expected, "\(it)")
    #expect(run.coverages(fresh + run.facts + stale) == expected, "\(it)")
  }

  @Test(arguments: some)
  func `every order gives one answer`(it: Case) throws {
    let run = try StoryRun(it)
    let expected = run.coverages(run.facts)
    let seed = SeededGenerator.seed(of: "fake store")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<10 {
      let order = (run.facts + run.facts.prefix(3)).shuffled(using: &random)
      #expect(run.coverages(order) == expected, "\(it), seed \(seed)")
    }
  }
}

extension FakeStoreTests {
  @Test(arguments: cases.filter { $0.story.name.hasPrefix("refund") })
  func `a refund that is all that is known leads to its subscription`(it: Case) throws {
    let run = try StoryRun(it)
    let fact = try #require(run.facts.joined().first { $0.key.kind == .refund })
    let payments = fact.links.filter { $0.origin == fact.key }.map(\.target)
    #expect(!payments.isEmpty)
    for payment in payments {
      let found = try run.api.records(about: payment).facts
      let subscriptions = found.flatMap { $0.links }.map(\.target).filter {
        $0.kind == .subscription
      }
      #expect(Set(subscriptions.map(\.id)) == Set(run.stripe.subscriptions), "\(it), \(payment)")
    }
  }
}

/// A story that has run to its end, and the facts of its deliveries.
private struct StoryRun {
  let stripe: FakeStripe
  let facts: [[Fact]]
  let types: [String]
  private let catalogue: Catalogue

  init(_ it: FakeStoreTests.Case) throws {
    let stripe = it.story.makeStripe(it.version)
    _ = it.story.run(stripe)
    self.stripe = stripe
    let secrets = try #require(WebhookSecrets(stripe.secrets))
    facts = try stripe.deliveries.map { delivery in
      let request = stripe.request(for: delivery, at: delivery.emitted)
      let signature = Array((request.header("stripe-signature") ?? "").utf8)
      return try StripeEvent(
        secrets.verify(headers: [signature], body: request.body, now: delivery.emitted)
      ).facts
    }
    types = stripe.deliveries.map { stripe.type(of: $0) }
    catalogue = try Catalogue(
      version: "test", free: Plan(id: "free", title: "Free", byteCount: 10),
      paid: [
        Plan(
          id: "premium", title: "Premium", byteCount: 100,
          products: [StripePrice.premiumMonthly, .premiumYearly].map {
            Plan.Product(provider: "stripe", id: $0.id)
          }),
        Plan(
          id: "plus", title: "Plus", byteCount: 1000,
          products: [Plan.Product(provider: "stripe", id: StripePrice.plusMonthly.id)]),
      ],
      ignored: [Plan.Product(provider: "stripe", id: StripePrice.stickersMonthly.id)])
  }

  func planID(_ sale: StripeSale) -> String? {
    guard
      case .plan(let plan) = catalogue.mapping(
        provider: "stripe", price: sale.price, product: sale.product)
    else { return nil }
    return plan.id
  }

  func size(_ planID: String) -> Int64 { catalogue.plan(planID)?.byteCount ?? 0 }

  /// The coverage of every subscription, found through links as the ledger does.
  func coverages(_ deliveries: [[Fact]]) -> [ObjectKey: Coverage] {
    let all = deliveries.enumerated().flatMap { index, facts in facts.map { (index, $0) } }
    let links = Set(all.flatMap { $0.1.links })
    let keys = Set(all.map { $0.1.key }.filter { $0.kind == .subscription })
    var coverages: [ObjectKey: Coverage] = [:]
    for key in keys {
      var reached: Set<ObjectKey> = [key]
      var open = [key]
      while let target = open.popLast() {
        for link in links where link.target == target && reached.insert(link.origin).inserted {
          if link.kind == .bridge { open.append(link.origin) }
        }
        for link in links where link.origin == key && link.target.kind == .customer {
          reached.insert(link.target)
        }
      }
      var subscription = StripeStore().subscription(key)
      for (index, fact) in all where reached.contains(fact.key) {
        subscription.insert(fact, delivery: Int64(index))
      }
      coverages[key] = subscription.coverage(policy: .standard, catalogue: catalogue)
    }
    return coverages
  }

  var api: StripeAPI {
    StripeAPI(
      base: "https://stripe.test", key: stripe.key, environment: .live,
      transport: FakeTransport(stripe: stripe))
  }

  /// A read of every subscription that the replica knows, begun after the last delivery.
  func read(after span: Instant.Span = .seconds(20)) throws -> [[Fact]] {
    stripe.clock.advance(by: span)
    let keys = Set(facts.joined().map(\.key).filter { $0.kind == .subscription })
    return try keys.sorted().map { key in
      do throws(APIFailure) { return try api.record(of: key.id).facts } catch {
        guard error == .notFound, stripe.faults.replicaLag > .seconds(0) else { throw error }
        return []
      }
    }
  }
}

/// Calls the fake directly, without a socket.
private struct FakeTransport: ProviderTransport {
  let stripe: FakeStripe

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let path = String(request.url.dropFirst("https://stripe.test".count))
    guard
      let answer = stripe.answer(
        FakeRequest(
          method: request.method, path: path,
          headers: request.headers.map { (name: $0.0, value: $0.1) }))
    else { throw .transient("timed out", retryAfter: nil) }
    return APIReply(
      status: answer.status, headers: Headers(answer.headers.map { ($0.name, $0.value) }),
      body: answer.body, elapsed: .milliseconds(30))
  }
}
