import Apple
import Base
import Billing
import ClaimingDevice
import Configuration
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import KnownStores
import Ledger
import RecordedStories
import Storage
import Stores
import Stripe
import Subscriptions
import TestEngines
import Testing
import Tiers

/// Every story under webhooks/apple/, delivered byte for byte through a real database.
struct RecordedAppleStoryTests {
  @Test(arguments: RecordedAppleStory.all, TestEngine.available)
  func `every notification is answered and leaves what it must`(
    story: RecordedAppleStory, engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try Database.open(scratch.location, owning: .billing)
    defer { database.close() }
    let catalogue = try CatalogueFile.catalogue(of: RecordedStory.catalogue)
    let moment = Locked(Instant(seconds: 0))
    let trust = try #require(
      AppleTrust(
        roots: [RecordedAppleStory.root], bundleID: story.bundleID, appAppleID: story.appAppleID))
    let rules = LedgerRules(catalogue: catalogue)
    let service = BillingService(
      database: database, rules: rules, sealing: Harness.sealing,
      clock: Clock { moment.withLock { $0 } },
      stores: StoreList.known(
        with: StripeStore(secrets: story.stripeSecret.flatMap { WebhookSecrets([$0]) }),
        AppleStore(verifier: AppleVerifier(trust))),
      claims: ClaimingDevice.policy)
    for (index, step) in story.steps.enumerated() {
      let place = "step \(index + 1), \(step.delivery?.name ?? "clock")"
      moment.withLock { $0 = step.at }
      if let request = step.delivery {
        let answer = try Self.post(request, through: service.routes())
        #expect(answer == step.answer, "\(place)")
      }
      if let claim = step.claim {
        let answer = try ClaimingDevice(of: story.account, scratch.location).claim(
          ["provider": "apple", "transaction": .string(claim)], at: step.at,
          through: service.routes())
        #expect(answer == (200, "owned"), "\(place)")
      }
      if step.deletesAccount {
        try database.write(for: nil) { transaction in
          _ = try Ledger(stores: .known, rules: rules).decide(
            .accountDeleted(story.account), at: step.at, in: transaction)
        }
      }
      guard let expected = step.expected else { continue }
      let explanation = try database.read { reader in
        try EntitlementExplanation(
          of: story.account, at: step.at, catalogue: catalogue, stores: .known, reading: reader)
      }
      #expect(explanation.current.capByteCount == expected.capByteCount, "\(place)")
      #expect(explanation.current.planID == expected.planID, "\(place)")
      #expect(explanation.current.reason.rawValue == expected.reason, "\(place)")
      if expected.tellsLabel {
        #expect(explanation.subscriptions.first?.label.rawValue == expected.label, "\(place)")
      }
    }
  }

  private static func post(
    _ request: RecordedRequest, through routes: [Route]
  ) throws -> RecordedStory.Answer {
    let path = request.requestLine.split(separator: " ")[1]
    let route = try #require(routes.first { $0.pattern == path })
    let head = RequestHead(
      method: "POST", target: String(path),
      headers: Headers(
        ["Stripe-Signature"].compactMap { name in request.header(name).map { (name, $0) } }),
      authority: "billing")
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
}
