import Base
import StoreFacts
import Stripe
import Subscriptions
import Testing

struct OwnershipTests {
  private func session(_ id: String, _ account: Identifier?) -> Story.Delivery {
    Story.Delivery(
      object: .checkoutSession(
        StripeCheckoutSession(subscription: subscriptionID, isOpen: false, account: account)),
      id: id, created: at(0))
  }

  @Test func `a subscription's own token names its owner`() {
    let story = Story([subscription(0, .active, account: accountA), session("cs_1", accountB)])
    #expect(story.record.ownership.account == accountA)
    #expect(story.record.ownership.evidence == .token("subscription"))
  }

  @Test func `without one its checkout session does`() {
    let story = Story([subscription(0, .active, account: nil), session("cs_1", accountB)])
    #expect(story.record.ownership.account == accountB)
    #expect(story.record.ownership.evidence == .token("checkout.session:cs_1"))
  }

  @Test func `without any it is nobody's, and its facts merge all the same`() {
    let story = Story([
      subscription(0, .active, account: nil), invoice(0, "in_1", .paid, from: 0, to: 30),
    ])
    #expect(story.record.ownership.evidence == .none)
    #expect(story.label(day: 1) == .active)
  }

  @Test func `tokens that disagree leave it to nobody`() {
    let story = Story([
      subscription(0, .active, account: accountA), subscription(0, .active, account: accountB),
    ])
    #expect(story.record.ownership.evidence == .contested)
  }
}
