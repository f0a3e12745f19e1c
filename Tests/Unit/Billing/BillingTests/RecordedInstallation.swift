import Answers
import Apple
import BTCPay
import Base
import Billing
import ClaimingDevice
import Configuration
import Crypto
import Endpoints
import Google
import HTTPMessages
import HTTPServer
import JSON
import Jobs
import KnownStores
import Ledger
import ProviderAPI
import RecordedAPI
import RecordedStories
import Repair
import Storage
import Stores
import Stripe
import Subscriptions
import TestEngines
import Testing
import Tiers

/// Billing of one recorded story of any store, over a real database.
final class RecordedInstallation {
  private let story: RecordedStory
  private let api = RecordedAPI()
  private let database: Database
  private let service: BillingService
  private let scratch: ScratchDatabase
  private let clock = Locked(Instant(seconds: 0))
  private let catalogue: Catalogue
  private let ledger: Ledger

  init(_ story: RecordedStory, _ engine: TestEngine) throws {
    self.story = story
    catalogue = try CatalogueFile.catalogue(of: RecordedStory.catalogue)
    ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))
    scratch = try ScratchDatabase(engine, with: .schemas)
    database = try Database.open(scratch.location, owning: .billing)
    let clock = Clock { [clock] in clock.withLock { $0 } }
    service = BillingService(
      database: database, rules: LedgerRules(catalogue: catalogue), sealing: Harness.sealing,
      clock: clock, stores: try Self.stores(story, api, clock), clients: ClaimingDevice.policy,
      search: Self.search)
  }

  deinit { database.close() }

  private static func stores(
    _ story: RecordedStory, _ api: RecordedAPI, _ clock: Clock
  ) throws -> StoreList {
    let stripe = StripeStore(secrets: story.stripeSecret.flatMap { WebhookSecrets([$0]) })
    func setting(_ name: String) -> String { story.settings["COFFER_" + name] ?? "" }
    switch story.store {
    case "apple":
      let trust = AppleTrust(
        roots: [StoryKeys.appleRoot], bundleID: setting("APPLE_BUNDLE_ID"),
        appAppleID: Int64(setting("APPLE_APP_ID")) ?? 0)
      return .known(with: stripe, AppleStore(verifier: AppleVerifier(try #require(trust))))
    case "google":
      let account = try #require(
        ServiceAccount(keyFile: Secret(StoryKeys.googleServiceAccount)))
      let verifier = GoogleVerifier(
        GoogleTrust(
          packages: [setting("GOOGLE_PACKAGE")], audience: setting("GOOGLE_PUSH_AUDIENCE"),
          email: setting("GOOGLE_PUSH_EMAIL")),
        keys: PushKeys(
          url: "https://www.googleapis.com/oauth2/v3/certs", transport: api, clock: clock))
      let reads = GoogleAPI(
        package: setting("GOOGLE_PACKAGE"), account: account, transport: api, clock: clock)
      return .known(with: stripe, GoogleStore(verifier: verifier, apis: [reads]))
    case "btcpay":
      let btcpay = BTCPayAPI(
        base: setting("BTCPAY_URL"), store: setting("BTCPAY_STORE_ID"),
        key: Secret(setting("BTCPAY_API_KEY")), transport: api)
      let secrets = BTCPaySecrets([Secret(setting("BTCPAY_WEBHOOK_SECRETS"))])
      return .known(with: stripe, BTCPayStore(secrets: secrets, api: btcpay))
    default: return .known(with: stripe)
    }
  }

  /// Plays one step and checks its expected result.
  func play(_ step: RecordedStory.Step, place: String) throws {
    clock.withLock { $0 = step.at }
    api.show(step)
    if let request = step.delivery {
      #expect(try post(request) == step.answer, "\(place)")
    }
    if let claim = step.claim {
      let answer = try ClaimingDevice(of: story.account, scratch.location).claim(
        claim, at: step.at, through: service.routes())
      #expect(answer.status == 200 || answer.status == 202, "\(place): \(answer.word)")
    }
    if step.deletesAccount { try deleteAccount(at: step.at) }
    try runJobs(at: step.at)
    #expect(api.acknowledged.isSuperset(of: step.acknowledges), "\(place)")
    guard let expected = step.expected else { return }
    #expect(try found(at: step.at, tellsLabels: expected.labels != nil) == expected, "\(place)")
  }

  /// A change of a subscription's state.
  struct Change {
    let at: Instant
    let noticed: Instant
    let text: String
  }

  /// The changes of each subscription of a store, in order.
  func changes(at store: String) throws -> [[Change]] {
    let rows = try database.read { reader in
      try reader.rows(
        """
        SELECT object, at_ms, noticed_ms, state_before, state_after FROM billing.transitions
        WHERE cause <> 'owner' AND state_before <> state_after AND object LIKE $1
        ORDER BY object, number
        """, .text(store + ":%")
      ) { row in
        (
          object: try row.text(0),
          change: Change(
            at: try row.instant(1), noticed: try row.instant(2),
            text: "\(try row.text(3)) -> \(try row.text(4))")
        )
      }
    }
    return Dictionary(grouping: rows) { $0.object }.values.map { $0.map(\.change) }
  }

  /// `signedAt`: Stripe's deliveries are signed again, for that moment.
  func post(
    _ request: RecordedRequest, signedAt moment: Instant? = nil
  ) throws -> RecordedStory.Answer {
    if let moment { clock.withLock { $0 = moment } }
    let path = request.requestLine.split(separator: " ")[1]
    let route = try #require(service.routes().first { $0.pattern == path })
    var headers = ["Authorization", "BTCPay-Sig", "Stripe-Signature"].compactMap { name in
      request.header(name).map { (name, $0) }
    }
    if let moment, let secret = story.stripeSecret {
      let signature = signatureHeader(body: request.body, secret: secret, at: moment)
      headers = [("Stripe-Signature", signature)]
    }
    let head = RequestHead(
      method: "POST", target: String(path), headers: Headers(headers), authority: "billing")
    let response: Response
    do {
      response = try route.admit(head, []).wait().finish(request.body).wait()
    } catch {
      response = problem(for: error, head).response(requestID: "r")
    }
    guard case .bytes(let bytes) = response.body else {
      return RecordedStory.Answer(status: response.status, word: "")
    }
    let json = try JSON.parse(bytes)
    let word = json["status"].string ?? json["type"].string ?? ""
    return RecordedStory.Answer(
      status: response.status, word: word.split(separator: ":").last.map(String.init) ?? word)
  }

  /// Decodes every stored delivery again and merges its content, in order of arrival. Returns how many there
  /// were.
  func replay(at now: Instant) throws -> Int {
    let ledger = ledger
    let kept = try database.read { reader in
      try DeliveryPage(DeliveryFilter(), of: ledger, reading: reader).deliveries
    }
    for delivery in kept.reversed() {
      let again: RedecodedDelivery
      do {
        again = try database.read { reader in
          try RedecodedDelivery(
            delivery, of: .known, sealing: Harness.sealing, search: nil, reading: reader)
        }
      } catch is ErasedDelivery {
        continue
      }
      #expect(again.decoded.deliveryID == delivery.deliveryID)
      #expect(again.decoded.disposition == delivery.disposition, "\(delivery.deliveryID)")
      let change = try database.write(for: nil) { transaction in
        try ledger.replay(again, at: now, in: transaction)
      }
      #expect(change.subscriptions.isEmpty && change.accounts.isEmpty, "\(delivery.deliveryID)")
    }
    return kept.count
  }

  private static let search = SearchKey(Secret([UInt8](repeating: 9, count: 32)))

  /// Finds what is known under a text, with or without the search key.
  func found(_ text: String, at now: Instant, withKey: Bool = true) throws -> Finding {
    return try database.read { reader in
      try Finding(
        text, owners: [], at: now, of: ledger, key: withKey ? Self.search : nil, reading: reader)
    }
  }

  /// The subscriptions that an object is part of.
  func wholes(of object: ObjectKey) throws -> [ObjectKey] {
    try database.read { try ledger.wholes(of: object, reading: $0) }
  }

  /// Every stored object, with the delivery that shows it and its content.
  func mirrors() throws -> [String] {
    try database.read { reader in
      try reader.rows("SELECT object, delivery, content FROM billing.mirrors") { row in
        "\(try row.text(0)) \(try row.integer(1)) \(try row.text(2))"
      }
    }.sorted()
  }

  private func deleteAccount(at now: Instant) throws {
    let ledger = ledger
    let account = story.account
    try database.write(for: nil) { transaction in
      _ = try ledger.decide(.accountDeleted(account), at: now, in: transaction)
    }
  }

  /// Runs the jobs that are due, and those that become due at once. Confirming reads wait for their minute.
  private func runJobs(at now: Instant) throws {
    for _ in 0..<20 {
      var count = 0
      for handler in service.jobHandlers {
        let leases = try database.write(for: nil) { transaction in
          try Jobs.lease(handler.kind, limit: 10, now: now, in: transaction)
        }
        for lease in leases {
          count += 1
          do throws(JobFailure) {
            try commit(try handler.run(lease), lease, at: now)
          } catch {
            Issue.record("\(lease.kind): \(error)")
          }
        }
      }
      if count == 0 { return }
    }
    Issue.record("the jobs never settle")
  }

  private func commit(
    _ result: JobResult, _ lease: Lease, at now: Instant
  ) throws(JobFailure) {
    do {
      try database.write(for: nil) { transaction in
        try result.commit(lease, now: now, in: transaction).committed
      }()
    } catch {
      throw .refused("\(error)")
    }
  }

  // MARK: what it left

  func explanation(
    at now: Instant, about moment: Instant? = nil
  ) throws -> EntitlementExplanation {
    try database.read { reader in
      try EntitlementExplanation(
        of: story.account, at: now, about: moment, catalogue: catalogue, stores: .known,
        reading: reader)
    }
  }

  /// The overview as the account reads it.
  func overview(at now: Instant) throws -> JSON {
    let overview = try database.read { reader in
      try ledger.overview(of: story.account, at: now, reading: reader)
    }
    return try JSON.parse(overview.json.encoded())
  }

  /// The account's payments and refunds, as it reads them.
  func payments(at now: Instant) throws -> JSON {
    let history = try database.read { reader in
      try ledger.paymentHistory(of: story.account, at: now, reading: reader)
    }
    return try JSON.parse(history.json.encoded())
  }

  func attention(at now: Instant) throws -> AttentionList {
    try database.read { reader in
      try AttentionList(at: now, limit: 100, stores: .known, reading: reader)
    }
  }

  /// Checks every monthly report against what is known of each subscription alone.
  func checkReports(at now: Instant) throws {
    try database.read { reader in
      try ReportedStory(ledger, catalogue, at: now, reading: reader)
    }.check(story.name)
  }

  private func found(at now: Instant, tellsLabels: Bool) throws -> RecordedStory.Expectation {
    let explanation = try explanation(at: now)
    var labels: [String: String] = [:]
    for name in story.subscriptions {
      let key = story.key(of: name)
      let own = explanation.subscriptions.first { $0.key.description == key }
      labels[name] = own?.label.rawValue
    }
    return RecordedStory.Expectation(
      capByteCount: explanation.current.capByteCount, planID: explanation.current.planID,
      reason: explanation.current.reason.rawValue, labels: tellsLabels ? labels : nil)
  }

  /// Everything derived for the account, without its history.
  func rows(at now: Instant) throws -> String {
    let explanation = try explanation(at: now)
    let subscriptions = explanation.subscriptions.map { subscription in
      let owed = subscription.intervals.map { "\($0.from) \($0.to) \($0.planID) \($0.why)" }
      return "\(subscription.key) \(subscription.label) \(subscription.willRenew) "
        + "\(subscription.isDirty) \(subscription.ownerEvidence) \(owed)"
    }
    return "\(explanation.schedule) \(subscriptions)"
  }
}
