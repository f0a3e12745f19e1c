import Base

extension AppleStory {
  /// Cancels, other products, and other prices.
  static let changing = [
    AppleStory("cancel-and-uncancel", "Renewal turned off and on again changes nothing") { story in
      let id = story.buy()
      story.go(.days(6))
      story.store.turnOffRenewal(id)
      story.deliver(.premium())
      story.go(.days(6))
      story.store.turnOnRenewal(id)
      story.deliver(.premium())
      story.renew(id, .premium())
    },
    AppleStory("cancel-and-lapse", "A cancel ends exactly with the period: no grace, no leeway") {
      story in
      let id = story.buy()
      story.go(.days(6))
      story.store.turnOffRenewal(id)
      story.deliver(.premium())
      let over = StoryExpectation.free("lapsed", "expired")
      story.edge(story.store.expiry(of: id), .premium(), over)
      story.deliver(over)
    },
    AppleStory("upgrade", "An upgrade is at once, and its period begins that day") { story in
      let id = story.buy()
      story.go(.days(9))
      story.store.change(id, to: .plusMonthly)
      story.deliver(.plus())
      story.renew(id, .plus())
      story.time(story.store.expiry(of: id) - .hours(7), .plus())
    },
    AppleStory(
      "upgrade-from-year-lapses",
      "A year that became a larger month ends with the month, not with the year"
    ) { story in
      let id = story.buy(.premiumYearly)
      story.go(.days(40))
      story.store.change(id, to: .plusMonthly)
      story.deliver(.plus())
      story.go(.days(2))
      story.store.turnOffRenewal(id)
      story.deliver(.plus())
      let over = StoryExpectation.free("lapsed", "expired")
      story.edge(story.store.expiry(of: id), .plus(), over)
      story.deliver(over)
    },
    AppleStory("downgrade", "A downgrade waits for the renewal, even where that is paid early") {
      story in
      let id = story.buy(.plusMonthly)
      story.go(.days(9))
      story.store.change(id, to: .premiumMonthly)
      story.deliver(.plus())
      let end = story.store.expiry(of: id)
      story.renew(id, .plus())
      story.edge(end, .plus(), .premium())
    },
    AppleStory("downgrade-undone", "A downgrade that is undone in time never was") { story in
      let id = story.buy(.plusMonthly)
      story.go(.days(9))
      story.store.change(id, to: .premiumMonthly)
      story.deliver(.plus())
      story.go(.days(2))
      story.store.change(id, to: .plusMonthly)
      story.deliver(.plus())
      story.renew(id, .plus())
    },
    AppleStory("month-to-year", "The same plan by the year begins with the renewal") { story in
      let id = story.buy()
      story.go(.days(9))
      story.store.change(id, to: .premiumYearly)
      story.deliver(.premium())
      let end = story.store.expiry(of: id)
      story.renew(id, .premium())
      story.time(end + .days(300), .premium())
    },
    AppleStory("price-rise-refused", "A price rise without consent ends with the period") { story in
      let id = story.buy()
      story.go(.days(4))
      story.store.raisePrice(id)
      story.deliver(.premium())
      story.go(to: story.store.expiry(of: id))
      story.deliver(.free("lapsed", "expired"))
    },
    AppleStory("price-rise-accepted", "A price rise with consent changes nothing here") { story in
      let id = story.buy()
      story.go(.days(4))
      story.store.raisePrice(id)
      story.deliver(.premium())
      story.go(.days(4))
      story.store.acceptPrice(id)
      story.deliver(.premium())
      story.renew(id, .premium())
    },
    AppleStory("extended-renewal", "An extended period ends later, and renews from there") {
      story in
      let id = story.buy()
      let end = story.store.expiry(of: id)
      story.go(.days(12))
      story.store.extend(id, days: 14)
      story.deliver(.premium())
      story.time(end + .days(1), .premium())
      story.renew(id, .premium())
      story.time(end + .days(20), .premium())
    },
    AppleStory(
      "platform-switch", "A customer who moves to Stripe keeps access, whatever ends at the store"
    ) { story in
      let id = story.buy()
      story.go(.days(20))
      _ = story.stripe.buy(account: story.account)
      story.deliverAll(.premium())
      story.go(.days(1))
      story.store.turnOffRenewal(id)
      story.deliver(.premium())
      story.go(to: story.store.expiry(of: id))
      story.deliver(.premium("subscribed", "expired"))
    },
  ]
}
