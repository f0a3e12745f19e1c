import Apple
import BTCPay
import Base
import Configuration
import Google
import JSON
import ProviderAPI
import RecordedAPI
import RecordedStories
import SeededRandom
import Stores
import Stripe
import Subscriptions
import Testing
import Tiers

/// Every recorded story with only the decoders and the ledger's rules.
@Suite struct RecordedStoryTests {
  @Test(arguments: RecordedStory.all)
  func `decoder and model alone tell what holds after each step`(story: RecordedStory) throws {
    let catalogue = try CatalogueFile.catalogue(of: RecordedStory.catalogue)
    let decoder = try RecordedDecoder(story)
    var ledger = MemoryLedger()
    for (index, step) in story.steps.enumerated() {
      let delivery = Int64(index) + 1
      if step.answer.word == "recorded" || step.answer.word == "conflicting" {
        ledger.join(try decoder.facts(of: step), delivery: delivery)
      }
      if let claim = step.claim {
        let (key, facts) = try decoder.claim(claim, at: step.at)
        ledger.join(facts, delivery: delivery)
        ledger.claim(key, by: story.account, sequence: delivery)
      }
      if step.deletesAccount { ledger.delete(story.account, sequence: delivery) }
      guard let expected = step.expected else { continue }
      let found = ledger.found(story, at: step.at, catalogue)
      let place = "step \(index + 1), \(step.delivery?.name ?? "clock")"
      #expect(found.planID == expected.planID, "\(place)")
      #expect(found.reason == expected.reason, "\(place)")
      #expect(found.capByteCount == expected.capByteCount, "\(place)")
      if let labels = expected.labels { #expect(found.labels == labels, "\(place)") }
    }
  }

  @Test(arguments: RecordedStory.all(of: "stripe") + RecordedStory.all(of: "apple"))
  func `shuffled deliveries leave the same ledger`(story: RecordedStory) throws {
    let catalogue = try CatalogueFile.catalogue(of: RecordedStory.catalogue)
    let decoder = try RecordedDecoder(story)
    let end = try #require(story.steps.last).at
    let parts = try story.steps.filter { $0.delivery != nil }.map { try decoder.facts(of: $0) }
    func digest(_ order: [Int]) -> Digest {
      var ledger = MemoryLedger()
      for index in order { ledger.join(parts[index], delivery: Int64(index)) }
      return Digest(ledger, catalogue: catalogue, until: end)
    }
    let order = Array(parts.indices)
    let expected = digest(order)
    let seed = Seed.of(story.name)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<20 {
      let shuffled = (order + order.prefix(2)).shuffled(using: &random)
      let found = digest(shuffled)
      #expect(found == expected, "\(shuffled): \(found.difference(from: expected))")
    }
  }
}

/// The content of a story's deliveries, reads and claims, from each store's own decoder.
private final class RecordedDecoder {
  private let story: RecordedStory
  private let secrets: WebhookSecrets?
  private let apple: AppleVerifier?
  private let google: GoogleAPI?
  private let btcpay: BTCPayStore?
  private let api = RecordedAPI()
  private let moment: Locked<Instant>
  private var readNumbers: [String: Int64] = [:]

  init(_ story: RecordedStory) throws {
    self.story = story
    secrets = story.stripeSecret.flatMap { WebhookSecrets([$0]) }
    let trust = AppleTrust(
      roots: [StoryKeys.appleRoot], bundleID: story.settings["COFFER_APPLE_BUNDLE_ID"] ?? "",
      appAppleID: Int64(story.settings["COFFER_APPLE_APP_ID"] ?? "") ?? 0)
    apple = trust.map { AppleVerifier($0) }
    let (api, moment) = (api, Locked(story.steps[0].at))
    self.moment = moment
    btcpay = story.settings["COFFER_BTCPAY_URL"].map { url in
      func setting(_ name: String) -> String { story.settings["COFFER_BTCPAY_" + name] ?? "" }
      return BTCPayStore(
        secrets: BTCPaySecrets([Secret(setting("WEBHOOK_SECRETS"))]),
        api: BTCPayAPI(
          base: url, store: setting("STORE_ID"), key: Secret(setting("API_KEY")), transport: api))
    }
    google = ServiceAccount(keyFile: Secret(StoryKeys.googleServiceAccount)).map {
      GoogleAPI(
        package: story.settings["COFFER_GOOGLE_PACKAGE"] ?? "", account: $0, transport: api,
        clock: Clock { moment.withLock { $0 } })
    }
  }

  func facts(of step: RecordedStory.Step) throws -> [Fact] {
    api.show(step)
    moment.withLock { $0 = step.at }
    let read = try story.subscriptions.filter { step.reads[$0] != nil }.flatMap {
      try self.read($0)
    }
    guard let request = step.delivery else { return read }
    switch request.store {
    case "stripe": return read + (try stripeFacts(request, at: step.at))
    case "apple":
      let verified = try #require(apple).verify(body: request.body, now: step.at)
      return try AppleNotification(verified).facts
    case "btcpay": return read + (try btcpayFacts(request))
    default: return read
    }
  }

  private func btcpayFacts(_ request: RecordedRequest) throws -> [Fact] {
    let secret = Secret(story.settings["COFFER_BTCPAY_WEBHOOK_SECRETS"] ?? "")
    let delivery = try #require(BTCPaySecrets([secret])).verify(
      headers: [Array((request.header("btcpay-sig") ?? "").utf8)], body: request.body)
    let store = story.settings["COFFER_BTCPAY_STORE_ID"] ?? ""
    return DecodedDelivery(try BTCPayEvent(delivery, store: store)).facts
  }

  private func stripeFacts(_ request: RecordedRequest, at now: Instant) throws -> [Fact] {
    let signature = request.header("stripe-signature") ?? ""
    let delivery = try #require(secrets).verify(
      headers: [Array(signature.utf8)], body: request.body, now: now)
    // A thin event only names an object.
    if (try? StripeThinEvent(delivery)) != nil { return [] }
    return try StripeEvent(delivery).facts
  }

  private func read(_ name: String) throws -> [Fact] {
    readNumbers[name, default: 0] += 1
    if story.store == "btcpay", let key = ObjectKey(story.key(of: name)) {
      let request = StoreRead(key, readNumber: readNumbers[name] ?? 0, secret: nil) {
        StoreRead.Known(reasons: [], parts: [])
      }
      return try #require(btcpay).read(request).facts
    }
    let token = try #require(PurchaseToken(name))
    // Sixty days after its end a purchase cannot be read. The last read still holds.
    let answer = Result { () throws(APIFailure) in
      try google?.read(token: token, readNumber: readNumbers[name] ?? 0).facts ?? []
    }
    if case .failure(.gone) = answer { return [] }
    return try answer.get()
  }

  func claim(_ body: [UInt8], at now: Instant) throws -> (ObjectKey, [Fact]) {
    let json = try JSON.parse(body)
    if let token = json["token"].string {
      return (try #require(PurchaseToken(token)).objectKey, [])
    }
    let text = try json["transaction"].requireString()
    let verified = try #require(apple).verify(transaction: text, now: now)
    let reading = try AppleTransactionReading(verified)
    return (reading.subscription, [reading.fact].compactMap { $0 })
  }
}

extension MemoryLedger {
  /// The cap, plan and labels of the story's account.
  fileprivate func found(
    _ story: RecordedStory, at now: Instant, _ catalogue: Catalogue
  ) -> RecordedStory.Expectation {
    let owned = keys.map { ($0, subscription($0)) }.filter {
      $0.1.environment == .live && $0.1.ownership.account == story.account
    }
    let coverages = owned.map { $0.1.coverage(policy: .standard, catalogue: catalogue) }
    var labels: [String: String] = [:]
    for ((key, subscription), coverage) in zip(owned, coverages) {
      guard let name = story.subscriptions.first(where: { story.key(of: $0) == key.description })
      else { continue }
      labels[name] = subscription.label(coverage, at: now).rawValue
    }
    let entry = Schedule(coverages, catalogue: catalogue).entry(at: now)
    return RecordedStory.Expectation(
      capByteCount: entry.capByteCount, planID: entry.planID, reason: entry.reason.rawValue,
      labels: labels)
  }
}
