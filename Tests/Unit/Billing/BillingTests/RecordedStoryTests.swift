import Base
import Billing
import Configuration
import JSON
import KnownStores
import Ledger
import RecordedStories
import SeededRandom
import Storage
import Stores
import Stripe
import StripeSamples
import Subscriptions
import TestEngines
import Testing
import Tiers

/// Every story under webhooks/, replayed: a new one is a test by being there.
struct RecordedStoryTests {
  @Test(arguments: RecordedStory.stripe)
  func `a recorded delivery is a whole request, signed at the moment of its step`(
    story: RecordedStory
  ) throws {
    let secrets = try #require(WebhookSecrets([story.secret]))
    for step in story.steps {
      guard let request = step.delivery else { continue }
      #expect(request.requestLine == "POST /webhooks/stripe HTTP/1.1")
      #expect(request.header("content-length") == String(request.body.count), "\(request.name)")
      let signature = try #require(request.header("stripe-signature"))
      let delivery = try secrets.verify(
        headers: [Array(signature.utf8)], body: request.body, now: step.at)
      #expect(delivery.signedAt == step.at, "\(request.name)")
      let version = story.name.split(separator: "/")[0]
      if step.answer.status == 200 {
        let told = try Told(delivery)
        #expect(told.apiVersion ?? String(version) == String(version), "\(request.name)")
      }
    }
  }

  @Test(arguments: RecordedStory.stripe)
  func `the ledger's model alone tells what holds after each step`(story: RecordedStory) throws {
    let catalogue = try RecordedLedger.catalogue
    let facts = try Facts(story)
    var count = 0
    for (index, step) in story.steps.enumerated() {
      if step.delivery != nil, step.answer.status == 200 { count += 1 }
      let found = facts.answer(Array(0..<count), at: step.at, catalogue)
      #expect(found == step.expected, "step \(index + 1), \(step.delivery?.name ?? "clock")")
    }
  }

  @Test(arguments: RecordedStory.stripe)
  func `shuffled deliveries leave the same objects`(story: RecordedStory) throws {
    let facts = try Facts(story)
    let order = Array(facts.facts.indices)
    let seed = UInt64.random(in: .min ... .max)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<50 {
      let shuffled = (order + order.prefix(2)).shuffled(using: &random)
      #expect(
        facts.subscriptions(shuffled) == facts.subscriptions(order), "\(shuffled), seed \(seed)")
    }
  }

  @Test(arguments: RecordedStory.stripe, TestEngine.available)
  func `through the database, every delivery is answered and leaves what it must`(
    story: RecordedStory, engine: TestEngine
  ) throws {
    let ledger = try RecordedLedger(story, engine)
    for (index, step) in story.steps.enumerated() {
      let place = "step \(index + 1), \(step.delivery?.name ?? "clock")"
      if let request = step.delivery {
        #expect(try ledger.post(request, at: step.at) == step.answer, "\(place)")
      }
      #expect(try ledger.found(at: step.at) == step.expected, "\(place)")
    }
  }

  @Test(arguments: RecordedStory.stripe)
  func `through the database, shuffled deliveries leave the same rows`(
    story: RecordedStory
  ) throws {
    let end = try #require(story.steps.last).at
    let seed = UInt64.random(in: .min ... .max)
    var random = SeededGenerator(seed: seed)
    var expected: String?
    for number in 0..<3 {
      let ledger = try RecordedLedger(story, .sqlite)
      let requests = number == 0 ? story.taken : story.taken.shuffled(using: &random)
      for request in requests {
        #expect(try ledger.post(request, at: end, signedAnew: true).status == 200)
      }
      let rows = try ledger.rows(at: end)
      #expect(rows == expected ?? rows, "\(requests.map(\.name)), seed \(seed)")
      expected = rows
    }
  }
}

/// The facts of a story's deliveries, and what the pure model makes of some of them.
private struct Facts {
  let story: RecordedStory
  let facts: [[Fact]]
  /// Its subscriptions, ascending.
  private let keys: [ObjectKey]

  init(_ story: RecordedStory) throws {
    self.story = story
    let secrets = try #require(WebhookSecrets([story.secret]))
    let moment = try #require(story.steps.last).at
    facts = try story.taken.map { request in
      let signature = signatureHeader(body: request.body, secret: story.secret, at: moment)
      return try Told(
        secrets.verify(headers: [Array(signature.utf8)], body: request.body, now: moment)
      ).facts
    }
    keys = Set(facts.joined().map(\.key).filter { $0.kind == .subscription }).sorted()
  }

  /// Each subscription with what does not belong to another.
  func subscriptions(_ order: [Int]) -> [Subscription] {
    keys.map { key in
      var subscription = StoreList.known[key.provider]!.subscription(key)
      for index in order {
        for fact in facts[index] where belongs(fact, to: key) {
          subscription.insert(fact, source: Int64(index))
        }
      }
      return subscription
    }
  }

  private func belongs(_ fact: Fact, to key: ObjectKey) -> Bool {
    if fact.key.kind == .subscription { return fact.key == key }
    let named = fact.links.map(\.target).filter { $0.kind == .subscription }
    return named.isEmpty || named.contains(key)
  }

  func answer(
    _ order: [Int], at now: Instant, _ catalogue: Catalogue
  ) -> RecordedStory.Expectation {
    let owned = subscriptions(order).filter { $0.ownership.account == story.account }
    let coverages = owned.map { $0.coverage(policy: .standard, catalogue: catalogue) }
    let entry = Schedule(coverages, catalogue: catalogue).entry(at: now)
    return RecordedStory.Expectation(
      capByteCount: entry.capByteCount, planID: entry.planID, reason: entry.reason.rawValue,
      label: Array(zip(owned, coverages)).first.map { $0.label($1, at: now).rawValue })
  }
}

/// Billing of one story over a real database.
private struct RecordedLedger {
  static var catalogue: Catalogue {
    get throws { try CatalogueFile.catalogue(of: RecordedStory.catalogue) }
  }

  private let story: RecordedStory
  private let harness: Harness
  private let service: BillingService
  private let catalogue: Catalogue

  init(_ story: RecordedStory, _ engine: TestEngine) throws {
    self.story = story
    catalogue = try Self.catalogue
    harness = try Harness(engine, rules: LedgerRules(catalogue: catalogue))
    service = harness.service(stripe: [story.secret])
  }

  func post(
    _ request: RecordedRequest, at now: Instant, signedAnew: Bool = false
  ) throws -> RecordedStory.Answer {
    harness.set(now)
    let signature =
      signedAnew
      ? signatureHeader(body: request.body, secret: story.secret, at: now)
      : request.header("stripe-signature") ?? ""
    let answer = try harness.post(request.body, signatures: [signature], through: service)
    let word = answer.word.split(separator: ":").last.map(String.init) ?? answer.word
    return RecordedStory.Answer(status: answer.status, word: word)
  }

  func found(at now: Instant) throws -> RecordedStory.Expectation {
    let explanation = try explanation(at: now)
    return RecordedStory.Expectation(
      capByteCount: explanation.current.capByteCount, planID: explanation.current.planID,
      reason: explanation.current.reason.rawValue,
      label: explanation.subscriptions.first?.label.rawValue)
  }

  /// All that is derived of the account, but not how it came to be.
  func rows(at now: Instant) throws -> String {
    let explanation = try explanation(at: now)
    let subscriptions = explanation.subscriptions.map { subscription in
      let owed = subscription.intervals.map { "\($0.from) \($0.to) \($0.planID) \($0.why)" }
      return "\(subscription.key) \(subscription.label) \(subscription.willRenew) "
        + "\(subscription.isDirty) \(subscription.ownerEvidence) \(owed)"
    }
    return "\(explanation.schedule) \(subscriptions)"
  }

  private func explanation(at now: Instant) throws -> EntitlementExplanation {
    try harness.database.read { reader in
      try EntitlementExplanation(
        of: story.account, at: now, catalogue: catalogue, stores: .known, reading: reader)
    }
  }
}

/// What a delivery says; a thin one names its object and no more.
private struct Told {
  let apiVersion: String?
  let facts: [Fact]

  init(_ delivery: VerifiedDelivery) throws {
    do throws(StripeEventError) {
      let event = try StripeEvent(delivery)
      (apiVersion, facts) = (event.apiVersion, event.facts)
    } catch .thin {
      _ = try StripeThinEvent(delivery)
      (apiVersion, facts) = (nil, [])
    }
  }
}
