import Base

extension GoogleStory {
  /// Cancellations that are undone, changes of plan, pauses.
  static let changing = [
    GoogleStory(
      "cancel-and-restore",
      "A cancel that is undone renews; one that is not ends exactly, without leeway"
    ) { story in
      let token = story.buy()
      story.go(.days(6))
      story.store.cancel(token)
      story.deliver(.premium())
      story.go(.days(4))
      story.store.restore(token)
      story.deliver(.premium())
      story.edge(story.end(token), .premium(), .premium("leeway"))
      story.deliver(.premium())
      story.go(.days(9))
      story.store.cancel(token)
      story.deliver(.premium())
      story.edge(story.end(token), .premium(), .free("lapsed", "expired"))
      story.deliver(.free("lapsed", "expired"))
    },
    GoogleStory("upgrade", "An upgrade is a purchase of its own that takes the old one's place") {
      story in
      let old = story.buy()
      story.go(.days(8))
      let new = story.store.replace(old, with: .plusMonthly, .chargeFullPrice)
      let both = StoryExpectation.plus("subscribed", "superseded", "active")
      story.deliver(both, both, acknowledging: new)
      story.time(story.end(new) - .seconds(1), both)
    },
    GoogleStory(
      "upgrade-to-year", "The same plan by the year: the cap stays, the purchase is another"
    ) { story in
      let old = story.buy()
      story.go(.days(15))
      let new = story.store.replace(old, with: .premiumYearly, .withTimeProration)
      let both = StoryExpectation.premium("subscribed", "superseded", "active")
      story.deliver(both, both, acknowledging: new)
      story.edge(story.end(new), both, .premium("leeway", "superseded", "active"))
      story.deliver(both)
    },
    GoogleStory(
      "deferred-downgrade", "A deferred downgrade keeps the larger plan until it is paid up"
    ) { story in
      let old = story.buy(.plusMonthly)
      story.go(.days(11))
      let new = story.store.replace(old, with: .premiumMonthly, .deferred)
      let larger = StoryExpectation.plus("subscribed", "superseded", "active")
      story.deliver(larger, larger, acknowledging: new)
      story.edge(story.end(new), larger, .plus("leeway", "superseded", "active"))
      story.deliver(.premium("subscribed", "superseded", "active"))
    },
    GoogleStory(
      "pending-upgrade-paid",
      "An upgrade to be paid in cash changes nothing until the money is there"
    ) { story in
      let old = story.buy()
      story.go(.days(5))
      let new = story.store.replace(old, with: .plusMonthly, .chargeFullPrice, isPending: true)
      story.claim(new, .premium("subscribed", "active", "pending"))
      story.go(.days(2))
      story.store.payPending(new)
      let both = StoryExpectation.plus("subscribed", "superseded", "active")
      story.deliver(both, both, acknowledging: new)
    },
    GoogleStory(
      "pending-upgrade-abandoned", "An upgrade that is never paid leaves the old plan in force"
    ) { story in
      let old = story.buy()
      story.go(.days(5))
      let new = story.store.replace(old, with: .plusMonthly, .chargeFullPrice, isPending: true)
      story.claim(new, .premium("subscribed", "active", "pending"))
      story.go(.days(3))
      story.store.abandonPending(new)
      let old2 = StoryExpectation.premium("subscribed", "active", "expired")
      story.deliver(old2)
      story.edge(story.end(old), old2, .premium("leeway", "active", "expired"))
      story.deliver(old2)
    },
    GoogleStory("pause-resume", "A pause begins at the renewal date and ends with a new period") {
      story in
      let token = story.buy()
      let end = story.end(token)
      story.go(.days(3))
      story.store.schedulePause(token, .days(28))
      story.deliver(.premium())
      story.go(to: end)
      story.deliver(.free("lapsed", "paused"))
      story.go(to: end + .days(28))
      story.deliver(.premium())
      story.time(story.end(token) - .seconds(1), .premium())
    },
    GoogleStory("pause-resume-fails", "A pause whose end cannot be paid becomes a hold") { story in
      let token = story.buy()
      let end = story.end(token)
      story.store.schedulePause(token, .days(7))
      story.deliver(.premium())
      story.go(to: end)
      story.deliver(.free("lapsed", "paused"))
      story.store.breakCard(token)
      story.go(to: end + .days(7))
      story.deliver(.free("payment_failed", "on_hold"))
      story.go(.days(2))
      story.store.repairCard(token)
      story.deliver(.premium())
    },
    GoogleStory("deferred-billing", "Time that the seller gives moves the renewal date") { story in
      let token = story.buy()
      story.go(.days(9))
      story.store.postpone(token, by: .days(30))
      story.deliver(.premium())
      story.edge(story.end(token), .premium(), .premium("leeway"))
      story.deliver(.premium())
    },
  ]
}
