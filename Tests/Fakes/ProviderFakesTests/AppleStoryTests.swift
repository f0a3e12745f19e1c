import Base
import JSON
import ProviderFakes
import RecordedStories
import Testing

/// The recorded stories, checked against the fake's truth, the verifier, the decoder and the fold.
@Suite struct AppleStoryTests {
  private static let signer = AppleSigner(
    certificates: [
      StoryKeys.appleLeaf, StoryKeys.appleIntermediate, StoryKeys.appleRoot,
    ], key: StoryKeys.appleLeafKey)

  private static let recorded = RecordedStory.all(of: "apple")

  /// The content of a request's body, without its signatures.
  private func unsigned(_ body: [UInt8]) throws -> String {
    AppleSigner.unsigned(try JSON.parse(body)["signedPayload"].requireString())
  }

  @Test func `what is recorded is what is told, but for signatures`() throws {
    let signer = try #require(Self.signer)
    #expect(Self.recorded.map(\.name) == AppleStory.all.map { "apple/\($0.name)" }.sorted())
    for story in AppleStory.all {
      let told = story.record(signer: signer).files.filter { $0.name.hasSuffix(".http") }
      let recorded = Self.recorded.first { $0.name == "apple/\(story.name)" }
      let requests = (recorded?.steps ?? []).compactMap(\.delivery)
      #expect(requests.map(\.name) == told.map(\.name), "\(story)")
      for (request, file) in zip(requests, told) {
        #expect(request.bytes.count == file.bytes.count, "\(story) \(request.name)")
        guard request.store == "apple" else { continue }
        let body = Array(file.bytes.suffix(request.body.count))
        #expect(try unsigned(request.body) == unsigned(body), "\(story) \(request.name)")
      }
    }
  }

  @Test func `every story has the account, the app and a title of its own`() {
    let stories = Self.recorded
    #expect(Set(stories.map(\.account)).count == stories.count)
    #expect(Set(stories.map(\.title)).count == stories.count)
    let bundles = stories.map { $0.settings["COFFER_APPLE_BUNDLE_ID"] }
    #expect(Set(bundles) == ["com.example.coffer"])
  }

  /// The stories' expectations follow our policy. They may add only leeway to the truth.
  @Test func `what is expected is what the store owes, and at most leeway beyond`() throws {
    let signer = try #require(Self.signer)
    // Money from another store, a deleted account, no money at all, and a product without storage.
    let others = ["platform-switch", "account-deleted", "sandbox", "ignored-product"]
    let plans = [
      AppleProduct.premiumMonthly.id: "premium", AppleProduct.premiumYearly.id: "premium",
      AppleProduct.plusMonthly.id: "plus",
    ]
    for story in AppleStory.all where !others.contains(story.name) {
      let recorder = story.record(signer: signer)
      let recorded = try #require(Self.recorded.first { $0.name == "apple/\(story.name)" })
      /// The plans that the sales oracle knew then, for the account to which they were sold.
      func owed(_ now: Instant) -> Set<String> {
        let truths = recorder.store.truths(asOf: now).filter { $0.account == recorder.account }
        let found = plans.filter { id, _ in truths.contains { $0.isOwed(id, at: now) } }
        return found.isEmpty ? ["free"] : Set(found.values)
      }
      // A claim may come minutes after the sale.
      let known =
        recorded.steps.firstIndex { $0.expected?.planID != "free" } ?? recorded.steps.count
      for step in recorded.steps[known...] {
        guard let expected = step.expected, expected.reason != "leeway" else { continue }
        // The events of the last seconds may still be on their way.
        let found = owed(step.at).union(owed(step.at - .seconds(9)))
        #expect(
          found.contains(expected.planID),
          "\(story) at \(step.at): owed \(found), expected \(expected.planID)")
      }
    }
  }
}
