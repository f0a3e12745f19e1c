import Answers
import Base
import Crypto
import Ledger
import RecordedStories
import StripeSamples
import Subscriptions
import TestEngines
import Testing
import Tiers

struct ExplanationTests {
  @Test(arguments: TestEngine.available)
  func `an unknown account has the free plan and no subscriptions`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let explanation = try harness.explanation(Random.identifier(), at: day0)
    #expect(explanation.current.planID == "free")
    #expect(explanation.current.reason == .neverSubscribed)
    #expect(explanation.subscriptions.isEmpty)
    #expect(explanation.derived == nil)
  }

  @Test(arguments: TestEngine.available)
  func `every interval names the deliveries that say so`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    let paid = customer.invoice(1, "paid", 0)
    try harness.post(customer.session())
    try harness.post(customer.subscription("created", 0))
    try harness.post(paid)
    try harness.post(
      customer.subscription("updated", 30) { $0.status = "past_due" })
    let failed = customer.invoice(2, "payment_failed", 30, from: 30, to: 60)
    try harness.post(failed)
    let explanation = try harness.explanation(customer.account, at: day(31))
    #expect(explanation.current.reason == .grace)
    let subscription = try #require(explanation.subscriptions.first)
    #expect(subscription.key.id == customer.subscriptionID)
    #expect(subscription.label == .grace)
    #expect(subscription.willRenew)
    #expect(subscription.ownerEvidence == "checkout.session:cs_\(harness.tag)")
    #expect(subscription.intervals.map(\.why) == [.subscribed, .grace])
    #expect(subscription.intervals[0].deliveries.map(\.deliveryID) == [paid.id])
    #expect(subscription.intervals[1].deliveries.map(\.type) == ["invoice.payment_failed"])
    #expect(subscription.deliveries.map(\.type) == ["customer.subscription.updated"])
  }

  @Test(arguments: TestEngine.available)
  func `the label is told for now, and transitions with their causes`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = try harness.subscriber()
    #expect(
      try harness.explanation(customer.account, at: day(40)).subscriptions.first?.label
        == .renewalPending)
    try harness.post(
      customer.subscription("deleted", 40) {
        $0.status = "canceled"
        $0.endedAt = day(40)
      })
    let subscription = try #require(
      harness.explanation(customer.account, at: day(41)).subscriptions.first)
    #expect(
      subscription.transitions.reversed().map { "\($0.cause) \($0.before) \($0.after)" } == [
        "fact none pending", "owner none \(customer.account)", "fact pending active",
        "clock active renewal_pending", "fact renewal_pending expired",
      ])
  }

  @Test func `what wants a human is told beside what came instead of a payment`() throws {
    let story = try #require(RecordedStory.all.first { $0.name == "btcpay/underpaid" })
    let installation = try RecordedInstallation(story, .sqlite)
    for step in story.steps { try installation.play(step, place: step.at.description) }
    let now = try #require(story.steps.last).at
    let subscription = try #require(installation.explanation(at: now).subscriptions.first)
    let payment = try #require(subscription.bill.payments.first)
    #expect(
      subscription.attention.map { "\($0.kind.rawValue) \($0.detail)" }
        == ["irregular_payment partial \(payment.object.id)"])
    #expect(payment.irregular?.asked == payment.amount)
    #expect(payment.irregular?.came == Money(amount: "2.00", currency: "EUR"))
  }

  @Test func `a refund that the App Store reversed is still told`() throws {
    let story = try #require(RecordedStory.all.first { $0.name == "apple/refund-reversed" })
    let installation = try RecordedInstallation(story, .sqlite)
    let steps = story.steps.prefix(5)
    for step in steps { try installation.play(step, place: step.at.description) }
    let now = try #require(steps.last).at
    let bill = try #require(installation.explanation(at: now).subscriptions.first?.bill)
    let reversal = try #require(bill.reversals.first)
    #expect(bill.reversals.count == 1)
    #expect(reversal.at == Instant(seconds: 1_773_481_438))
    #expect(reversal.state == .void)
    #expect(reversal.word == "reversed")
    #expect(reversal.payment == bill.payments.first?.object)
  }

  @Test func `a product of no catalogue is told`() throws {
    let harness = try Harness(.sqlite)
    let customer = Customer(tag: harness.tag)
    try harness.post(customer.session())
    let subscribed = customer.subscription("created", 0) {
      ($0.price, $0.product) = ("price_hat", "prod_hat")
    }
    try harness.post(subscribed)
    let subscription = try #require(
      harness.explanation(customer.account, at: day(1)).subscriptions.first)
    #expect(subscription.unknownProducts == ["price_hat"])
    #expect(subscription.ignoredItems.isEmpty)
    #expect(subscription.attention.map(\.kind) == [.unknownProduct])
  }
}
