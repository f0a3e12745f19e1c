import Base

extension GoogleStory {
  /// Reversals, customers who leave or come back, and products that are not ours.
  static let ending = [
    GoogleStory("refund-current", "A refund with revocation ends access at once") { story in
      let token = story.buy()
      story.go(.days(12))
      story.store.refund(story.store.orders(of: token)[0], revoking: true)
      let over = StoryExpectation.free("refunded", "revoked")
      story.deliver(over, over)
    },
    GoogleStory(
      "refund-kept", "A refund without revocation is told nowhere, and access stays by its state"
    ) { story in
      let token = story.buy()
      story.go(.days(12))
      story.store.refund(story.store.orders(of: token)[0], revoking: false)
      story.time(story.clock.now + .minutes(1), .premium(), reading: true)
      story.go(to: story.end(token))
      story.deliver(.premium())
    },
    GoogleStory(
      "chargeback-earlier", "A chargeback of an earlier period leaves the present one untouched"
    ) { story in
      let token = story.buy()
      story.go(to: story.end(token))
      story.deliver(.premium())
      story.go(.days(10))
      story.store.chargeBack(story.store.orders(of: token)[0])
      story.deliver(.premium())
      story.time(story.end(token) - .seconds(1), .premium())
    },
    GoogleStory(
      "unacknowledged",
      "A purchase whose owner never becomes known is not acknowledged, and refunded after 3 days"
    ) { story in
      _ = story.store.buy(.premiumMonthly, for: nil, namesOwner: false)
      story.deliver(.nobody)
      story.time(story.clock.now + .hours(60), .nobody)
      story.go(.hours(12))
      story.deliver(.nobody, .nobody)
    },
    GoogleStory(
      "resubscribe-out-of-app",
      "Bought again in Google Play without the app: the expired purchase says whose it is"
    ) { story in
      let old = story.buy()
      story.go(.days(7))
      story.store.cancel(old)
      story.deliver(.premium())
      story.go(to: story.end(old))
      story.deliver(.free("lapsed", "expired"))
      story.go(.days(16))
      let new = story.store.resubscribeOutsideApp(old)
      let both = StoryExpectation.premium("subscribed", "expired", "active")
      story.deliver(both, acknowledging: new)
      story.edge(story.end(new), both, .premium("leeway", "expired", "active"))
      story.deliver(both)
    },
    GoogleStory(
      "platform-switch", "From Google Play to Stripe: both overlap for a while, nothing is summed"
    ) { story in
      let token = story.buy()
      story.go(.days(20))
      story.store.cancel(token)
      story.deliver(.premium())
      story.go(.days(2))
      _ = story.stripe.buy(account: story.account)
      story.deliverAll(.premium())
      let over = StoryExpectation.premium("subscribed", "expired")
      story.edge(story.end(token), .premium(), over)
      story.deliver(over)
    },
    GoogleStory(
      "account-deleted", "The account goes, the subscription renews: it is nobody's from then on"
    ) { story in
      let token = story.buy()
      story.go(.days(10))
      story.deleteAccount()
      story.go(to: story.end(token))
      story.deliver(.nobody)
      story.go(.days(3))
      story.store.cancel(token)
      story.deliver(.nobody)
    },
    GoogleStory(
      "licence-tester", "A licence tester's purchase is recorded and gives nothing in production"
    ) { story in
      _ = story.store.buy(.premiumMonthly, for: story.account, isTest: true)
      story.deliver(.nothing)
      story.go(.minutes(5))
      story.deliver(.nothing, .nothing)
    },
    GoogleStory("ignored-product", "A product of the same app that is no storage grants nothing") {
      story in
      let token = story.store.buy(.stickersMonthly, for: story.account)
      story.store.acknowledge(token)
      story.deliver(.nothing)
    },
    GoogleStory(
      "everything-else-is-recorded",
      "Tests, one-time products, reviews and unknown numbers are taken and change nothing"
    ) { story in
      let token = story.buy()
      story.store.sendTestNotification()
      story.store.sellOneTimeProduct("sticker-pack")
      story.store.askForRefundReview(story.store.orders(of: token)[0])
      story.store.notify(token, type: 19)
      story.store.notify(token, type: 99)
      story.deliver(.premium(), .premium(), .premium(), .premium(), .premium())
    },
  ]
}
