import Base
import ProviderFakes
import RecordedStories
import Testing

/// The stories, checked against the sales oracle and the fold.
@Suite struct `Stories at a fake BTCPay server` {
  @Test func `have names of their own`() {
    let names = BTCPayStory.all.map(\.name)
    #expect(names.count == Set(names).count)
    #expect(names.count >= 10)
  }

  @Test func `are recorded as they are told, byte for byte`() {
    let recorded = RecordedStory.all(of: "btcpay")
    #expect(recorded.map(\.name) == BTCPayStory.all.map { "btcpay/\($0.name)" }.sorted())
    for story in BTCPayStory.all {
      let told = story.record().files.filter { $0.name.hasSuffix(".http") }
      let own = recorded.first { $0.name == "btcpay/\(story.name)" }
      let requests = (own?.steps ?? []).compactMap(\.delivery)
      #expect(requests.map(\.name) == told.map(\.name), "\(story)")
      #expect(zip(requests, told).allSatisfy { $0.bytes == $1.bytes }, "\(story)")
    }
  }

  @Test(arguments: BTCPayStory.all)
  func `expect what was sold`(story: BTCPayStory) throws {
    let recorder = story.record()
    let recorded = try #require(
      RecordedStory.all(of: "btcpay").first { $0.name == "btcpay/\(story.name)" })
    for step in recorded.steps {
      let expected = try #require(step.expected)
      // Events at the very moment of a step come after it.
      let owed = Set(
        recorder.store.truths(of: recorder.account, asOf: step.at - .milliseconds(1))
          .filter { $0.from <= step.at && step.at < $0.to }.map { $0.product.plan })
      let extra: Int64 = owed.contains("extra") ? 2_000_000_000 : 0
      let plans = owed.subtracting(["extra"])
      #expect(plans == (expected.planID == "free" ? [] : [expected.planID]), "at \(step.at)")
      let cap = StoryExpectation.caps[expected.planID] ?? 0
      #expect(expected.capByteCount == cap + extra, "at \(step.at)")
    }
  }

  @Test(arguments: BTCPayStory.all)
  func `deliver in the order of their times, each once`(story: BTCPayStory) {
    let store = story.record().store
    let deliveries = store.deliveries
    #expect(deliveries.map(\.emitted) == deliveries.map(\.emitted).sorted())
    #expect(Set(deliveries.map(\.id)).count == deliveries.count)
  }
}
