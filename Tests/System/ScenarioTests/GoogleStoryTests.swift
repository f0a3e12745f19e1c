import Base
import Configuration
import Crypto
import Glibc
import JSON
import RawClient
import RecordedStories
import TestDevices
import TestEngines
import Testing

/// Every recorded story of Google Play: pushed to the real programs, which read and acknowledge.
@Suite struct GoogleStoryTests {
  @Test(arguments: RecordedGoogleStory.all, TestEngine.available)
  func `a story's caps hold for the account, and what must be is acknowledged`(
    story: RecordedGoogleStory, engine: TestEngine
  ) throws {
    let stage = try Stage(story, engine)
    for (index, step) in story.steps.enumerated() {
      try stage.play(step, place: "step \(index + 1), \(step.delivery?.name ?? "clock")")
    }
    stage.end()
  }
}

private struct Stage {
  private let story: RecordedGoogleStory
  private let play: PlayServer
  private let installation: Installation
  private let sync: Server
  private let billing: Server
  private let device: TestDevice
  private let claimant: TestDevice

  private static let authority = "billing.coffer.test"
  /// Reads happen in the background; a sanitizer's build and a busy machine take their time.
  private static let patience = Instant.Span.seconds(30)

  init(_ story: RecordedGoogleStory, _ engine: TestEngine) throws {
    self.story = story
    play = try PlayServer(story.packageName)
    let directory = try ScratchDirectory()
    let keyFile = directory.path + "/service-account.json"
    let text = String(decoding: RecordedGoogleStory.serviceAccount, as: UTF8.self)
    try TextFile.write(
      text.replacing("https://oauth2.googleapis.com/token", with: play.url + "/token"), to: keyFile)
    installation = try Installation(
      engine, startingAt: try #require(story.steps.first).at,
      settings: [
        "COFFER_PLANS": RecordedGoogleStory.cataloguePath,
        "COFFER_STRIPE_WEBHOOK_SECRETS": story.stripeSecret.map {
          String(decoding: $0.exposed, as: UTF8.self)
        } ?? Installation.webhookSecretText,
        "COFFER_GOOGLE_PACKAGE": story.packageName,
        "COFFER_GOOGLE_PUSH_AUDIENCE": story.audience,
        "COFFER_GOOGLE_PUSH_EMAIL": story.email,
        "COFFER_GOOGLE_SERVICE_ACCOUNT_FILE": keyFile,
        "COFFER_GOOGLE_API_URL": play.url, "COFFER_GOOGLE_KEYS_URL": play.url + "/certs",
        "COFFER_BILLING_AUTHORITIES": Self.authority,
      ])
    sync = try installation.start(.sync)
    billing = try installation.start(.billing)
    let key = Ed25519PrivateKey()
    let created = try installation.command(
      "account", "create", "--id", story.account.description, "--public-key",
      Base64.standard.encode(key.publicKey.bytes))
    guard created.end == .exited(0) else { throw ScenarioError(created.output) }
    device = installation.device(of: sync, key: key)
    let clock = installation.clock
    claimant = TestDevice(
      port: billing.port, authority: Self.authority, key: key, root: Random.identifier()
    ) { clock.now() }
    // Held until both programs have read it.
    withExtendedLifetime(directory) {}
  }

  func play(_ step: RecordedGoogleStory.Step, place: String) throws {
    try installation.clock.set(step.at)
    play.show(step)
    if let request = step.delivery {
      let answer = try billing.exchange(request.bytes)
      let json = try JSON.parse(answer.body)
      let word = json["status"].string ?? json["type"].string ?? ""
      #expect(answer.status == step.answer.status, "\(place)")
      #expect(word.hasSuffix(step.answer.word), "\(place): \(word)")
    }
    if let token = step.claim {
      let answer = try claimant.post(
        "/v1/claims", ["provider": "google", "token": .string(token)])
      #expect(answer.status == 200 || answer.status == 202, "\(place)")
    }
    // The account's rows stay: what the operator records is that it is gone for billing.
    if step.deletesAccount { return }
    guard let expected = step.expected, step.at < (deletedAt ?? .distantFuture) else { return }
    let start = MonotonicTime.now()
    let deadline = start + Self.patience
    var found: RecordedGoogleStory.Expectation?
    while MonotonicTime.now() < deadline {
      // What is asked of a read while it runs is due half a second later, by this clock.
      if start + .seconds(3) < .now() { try installation.clock.set(step.at + .milliseconds(600)) }
      found = try explained(labelsOf: expected.labels?.keys.map { $0 })
      let isAcknowledged = step.acknowledges.allSatisfy(play.acknowledged.contains)
      if found == expected, isAcknowledged { break }
      usleep(50_000)
    }
    #expect(found == expected, "\(place)")
    #expect(step.acknowledges.allSatisfy(play.acknowledged.contains), "\(place)")
    let account = try device.get("/v1/account").json
    #expect(account["cap"].integer == expected.capByteCount, "\(place)")
  }

  private var deletedAt: Instant? { story.steps.first { $0.deletesAccount }?.at }

  private func explained(
    labelsOf tokens: [String]?
  ) throws -> RecordedGoogleStory.Expectation {
    let answer = try installation.command(
      "entitlement", "explain", story.account.description, "--json")
    let json = try JSON.parse(Array(answer.output.utf8))
    var labels: [String: String]?
    if let tokens {
      labels = [:]
      for token in tokens {
        let key = "google:live:purchase:" + Hex.encode(SHA256.hash(Array(token.utf8)))
        let subscription = json["subscriptions"].array?.first {
          $0["subscription"].string == key
        }
        labels?[token] = subscription?["label"].string
      }
    }
    return RecordedGoogleStory.Expectation(
      capByteCount: json["current"]["cap"].integer ?? -1,
      planID: json["current"]["plan"].string ?? "",
      reason: json["current"]["reason"].string ?? "", labels: labels)
  }

  func end() {
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    #expect(billing.stop() == .exited(0), "\(billing.lastWords)")
  }
}
