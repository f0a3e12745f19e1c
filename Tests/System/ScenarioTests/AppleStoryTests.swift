import Base
import Configuration
import Crypto
import JSON
import RawClient
import RecordedStories
import TestDevices
import TestEngines
import Testing

/// Every recorded story of the App Store, delivered to the real programs as it stands.
@Suite struct AppleStoryTests {
  private static let authority = "billing.coffer.test"

  @Test(arguments: RecordedAppleStory.all, TestEngine.available)
  func `a story's caps hold for the account`(
    story: RecordedAppleStory, engine: TestEngine
  ) throws {
    let installation = try Installation(
      engine, startingAt: try #require(story.steps.first).at,
      settings: [
        "COFFER_PLANS": RecordedStory.cataloguePath,
        "COFFER_STRIPE_WEBHOOK_SECRETS": story.stripeSecret.map {
          String(decoding: $0.exposed, as: UTF8.self)
        } ?? Installation.webhookSecretText,
        "COFFER_APPLE_BUNDLE_ID": story.bundleID,
        "COFFER_APPLE_APP_ID": String(story.appAppleID),
        "COFFER_APPLE_ROOT_FILE": RecordedAppleStory.rootPath,
        "COFFER_BILLING_AUTHORITIES": Self.authority,
      ])
    let sync = try installation.start(.sync)
    let billing = try installation.start(.billing)
    let key = Ed25519PrivateKey()
    let created = try installation.command(
      "account", "create", "--id", story.account.description, "--public-key",
      Base64.standard.encode(key.publicKey.bytes))
    #expect(created.end == .exited(0), "\(created.output)")
    let device = installation.device(of: sync, key: key)
    let clock = installation.clock
    let claimant = TestDevice(
      port: billing.port, authority: Self.authority, key: key, root: Random.identifier()
    ) { clock.now() }
    for (index, step) in story.steps.enumerated() {
      let place = "step \(index + 1), \(step.delivery?.name ?? "clock")"
      // The account's rows stay here: what follows tells of one that is gone.
      if step.deletesAccount { break }
      try clock.set(step.at)
      if let request = step.delivery {
        let answer = try billing.exchange(request.bytes)
        let json = try JSON.parse(answer.body)
        let word = json["status"].string ?? json["type"].string ?? ""
        #expect(answer.status == step.answer.status, "\(place)")
        #expect(word.hasSuffix(step.answer.word), "\(place): \(word)")
      }
      if let claim = step.claim {
        let answer = try claimant.post(
          "/v1/claims", ["provider": "apple", "transaction": .string(claim)])
        #expect(answer.status == 200, "\(place)")
      }
      guard let expected = step.expected else { continue }
      let account = try device.get("/v1/account").json
      #expect(account["cap"].integer == expected.capByteCount, "\(place)")
      #expect(account["plan"].string == expected.planID, "\(place)")
      #expect(account["reason"].string == expected.reason, "\(place)")
    }
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    #expect(billing.stop() == .exited(0), "\(billing.lastWords)")
  }
}
