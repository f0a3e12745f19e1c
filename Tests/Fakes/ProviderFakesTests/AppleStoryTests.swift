import Base
import JSON
import ProviderFakes
import RecordedStories
import Subscriptions
import Testing
import Tiers

/// The recorded stories, held against the fake's truth, the verifier, the decoder and the fold.
@Suite struct AppleStoryTests {
  private static let signer = AppleSigner(
    certificates: [
      RecordedAppleStory.leaf, RecordedAppleStory.intermediate, RecordedAppleStory.root,
    ], key: RecordedAppleStory.leafKey)

  private func isApple(_ request: RecordedRequest) -> Bool {
    request.requestLine == "POST /webhooks/apple HTTP/1.1"
  }

  /// What a request's body says, without its signatures.
  private func unsigned(_ body: [UInt8]) throws -> String {
    AppleSigner.unsigned(try JSON.parse(body)["signedPayload"].requireString())
  }

  @Test func `what is recorded is what is told, but for signatures`() throws {
    let signer = try #require(Self.signer)
    #expect(RecordedAppleStory.all.map(\.name) == AppleStory.all.map(\.name).sorted())
    for story in AppleStory.all {
      let told = story.tell(signer: signer).files.filter { $0.name.hasSuffix(".http") }
      let recorded = RecordedAppleStory.all.first { $0.name == story.name }
      let requests = (recorded?.steps ?? []).compactMap(\.delivery)
      #expect(requests.map(\.name) == told.map(\.name), "\(story)")
      for (request, file) in zip(requests, told) {
        #expect(request.bytes.count == file.bytes.count, "\(story) \(request.name)")
        guard isApple(request) else { continue }
        let body = Array(file.bytes.suffix(request.body.count))
        #expect(try unsigned(request.body) == unsigned(body), "\(story) \(request.name)")
      }
    }
  }

  @Test func `every story has the account, the app and a title of its own`() {
    let stories = RecordedAppleStory.all
    #expect(Set(stories.map(\.account)).count == stories.count)
    #expect(Set(stories.map(\.title)).count == stories.count)
    #expect(stories.allSatisfy { $0.bundleID == "com.example.coffer" })
  }

  /// The stories' expectations are our policy; what they add to the truth is leeway alone.
  @Test func `what is expected is what the store owes, and at most leeway beyond`() throws {
    let signer = try #require(Self.signer)
    // Money from elsewhere, no account any more, no money at all, and no storage.
    let others = ["platform-switch", "account-deleted", "sandbox", "ignored-product"]
    let plans = [
      AppleProduct.premiumMonthly.id: "premium", AppleProduct.premiumYearly.id: "premium",
      AppleProduct.plusMonthly.id: "plus",
    ]
    for story in AppleStory.all where !others.contains(story.name) {
      let telling = story.tell(signer: signer)
      let recorded = try #require(RecordedAppleStory.all.first { $0.name == story.name })
      /// By what was known at the till then, to whom it was sold.
      func owed(_ now: Instant) -> Set<String> {
        let truths = telling.store.truths(asOf: now).filter { $0.account == telling.account }
        let found = plans.filter { id, _ in truths.contains { $0.isOwed(id, at: now) } }
        return found.isEmpty ? ["free"] : Set(found.values)
      }
      // A claim may come minutes after the sale.
      let known =
        recorded.steps.firstIndex { $0.expected?.planID != "free" } ?? recorded.steps.count
      for step in recorded.steps[known...] {
        guard let expected = step.expected, expected.reason != "leeway" else { continue }
        // What happened in the last seconds may still be on its way.
        let found = owed(step.at).union(owed(step.at - .seconds(9)))
        #expect(
          found.contains(expected.planID),
          "\(story) at \(step.at): owed \(found), expected \(expected.planID)")
      }
    }
  }

  @Test(arguments: RecordedAppleStory.all)
  func `the decoder and the fold say what the story expects`(story: RecordedAppleStory) throws {
    guard story.stripeSecret == nil else { return }
    var ledger = try AppleLedger(
      of: story.account, root: RecordedAppleStory.root, bundleID: story.bundleID,
      appAppleID: story.appAppleID)
    let deletedAt = story.steps.first { $0.deletesAccount }?.at ?? .distantFuture
    for step in story.steps {
      if let request = step.delivery {
        #expect(request.header("Content-Length") == String(request.body.count))
        try ledger.deliver(request.body, at: step.at)
      }
      if let text = step.claim { try ledger.claim(text, at: step.at) }
      guard let expected = step.expected, step.at < deletedAt else { continue }
      let found = ledger.entitlement(at: step.at)
      #expect(found.planID == expected.planID, "at \(step.at)")
      #expect(found.reason.rawValue == expected.reason, "at \(step.at)")
      #expect(found.capByteCount == expected.capByteCount, "at \(step.at)")
      if expected.tellsLabel {
        #expect(ledger.label(at: step.at)?.rawValue == expected.label, "at \(step.at)")
      }
    }
  }
}
