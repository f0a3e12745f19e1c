import BTCPay
import Base
import ProviderFakes
import SeededRandom
import Subscriptions
import Testing
import Tiers

/// The stories, held against the till and the fold.
@Suite struct `Stories at a fake BTCPay server` {
  @Test func `have names of their own`() {
    let names = BTCPayStory.all.map(\.name)
    #expect(names.count == Set(names).count)
    #expect(names.count >= 10)
  }

  @Test(arguments: BTCPayStory.all)
  func `expect what the till owes`(story: BTCPayStory) {
    for step in story.record().steps {
      let plans = step.owed.subtracting(["extra"])
      #expect(plans == (step.expected.plan == "free" ? [] : [step.expected.plan]), "at \(step.at)")
      #expect(step.owed.contains("extra") == (step.expected.addOnCount > 0), "at \(step.at)")
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
