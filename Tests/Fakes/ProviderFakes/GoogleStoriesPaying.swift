import Base

extension GoogleStory {
  /// Buying, renewing, and cards that do not work.
  static let paying = [
    GoogleStory(
      "first-purchase", "The first purchase lifts the cap once it is read, and is acknowledged"
    ) { story in
      let token = story.buy()
      story.time(story.end(token) - .hours(1), .premium())
    },
    GoogleStory(
      "claimed-purchase",
      "A purchase that names no account waits for the app's claim, and only then is acknowledged"
    ) { story in
      let token = story.store.buy(.premiumMonthly, for: story.account, namesOwner: false)
      story.deliver(.nobody)
      story.go(.minutes(4))
      story.claim(token, .premium(), acknowledging: true)
      story.time(story.end(token) - .hours(1), .premium())
    },
    GoogleStory(
      "claimed-before-delivery", "The app's claim may come before Google's word, or without it"
    ) { story in
      let token = story.store.buy(.premiumMonthly, for: story.account, namesOwner: false)
      story.claim(token, .premium(), acknowledging: true)
      story.deliver(.premium())
    },
    GoogleStory("renewal", "Renewals join without a seam, and repetitions change nothing") {
      story in
      let token = story.buy()
      for _ in 0..<2 {
        let end = story.end(token)
        story.edge(end, .premium(), .premium("leeway"))
        story.deliver(.premium())
      }
      story.repeatLast(.premium())
      story.time(story.end(token) - .seconds(1), .premium())
    },
    GoogleStory("trial-then-paid", "A free trial gives access, and its end is the first payment") {
      story in
      story.time(story.clock.now - .seconds(60), .nobody)
      let token = story.store.buy(.premiumMonthly, for: story.account, trialDays: 14)
      story.deliver(.premium("trial", "trialing"), acknowledging: token)
      let end = story.end(token)
      story.edge(end, .premium("trial", "trialing"), .premium("leeway"))
      story.deliver(.premium())
    },
    GoogleStory(
      "failed-grace-recovery",
      "A failed renewal is silent for a day, then grace; recovered in it, the date stays"
    ) { story in
      let token = story.buy()
      let end = story.end(token)
      story.store.breakCard(token)
      story.edge(end, .premium(), .premium("leeway"))
      story.go(to: end + .hours(24))
      story.deliver(.premium("grace", "grace"))
      story.time(end + .days(5), .premium("grace", "grace"))
      story.go(.hours(2))
      story.store.repairCard(token)
      story.deliver(.premium())
      let next = end.adding(months: 1)
      story.edge(next, .premium(), .premium("leeway"))
      story.deliver(.premium())
    },
    GoogleStory(
      "failed-hold-recovery", "Grace ends in the hold; a payment then begins a period of its own"
    ) { story in
      let token = story.buy()
      let end = story.end(token)
      story.fallIntoHold(token, end)
      story.go(.days(12))
      story.store.repairCard(token)
      story.deliver(.premium())
      story.time(story.end(token) - .seconds(1), .premium())
    },
    GoogleStory(
      "failed-hold-canceled-expired",
      "A hold that nobody pays is cancelled with a past expiry: no access, and later no answer"
    ) { story in
      let token = story.buy()
      let end = story.end(token)
      story.fallIntoHold(token, end)
      story.go(to: end + .days(60))
      story.deliver(.free("lapsed", "expired"))
      story.go(.minutes(10))
      story.deliver(.free("lapsed", "expired"))
      story.time(story.clock.now + .days(61), .free("lapsed", "expired"), reading: true)
    },
    GoogleStory(
      "failed-without-grace", "Without grace the day of silence is leeway, and the hold follows"
    ) { story in
      let token = story.buy(.plusMonthly)
      let end = story.end(token)
      story.store.breakCard(token)
      story.edge(end, .plus(), .plus("leeway"))
      story.go(to: end + .hours(24))
      story.deliver(.free("payment_failed", "on_hold"))
      story.go(.days(3))
      story.store.repairCard(token)
      story.deliver(.plus())
    },
    GoogleStory(
      "prepaid-top-up", "A prepaid plan ends exactly; a top-up before that appends a period"
    ) { story in
      let first = story.buy(.premiumPrepaid)
      story.go(.days(20))
      let second = story.store.topUp(first)
      let both = StoryExpectation.premium("subscribed", "superseded", "active")
      story.deliver(both, both, acknowledging: second)
      let over = StoryExpectation.free("lapsed", "superseded", "expired")
      story.edge(story.end(second), both, over)
      story.deliver(over)
    },
  ]
}

extension GoogleRecorder {
  /// Silence, grace and the hold, as each is reported.
  fileprivate func fallIntoHold(_ token: String, _ end: Instant) {
    store.breakCard(token)
    go(to: end + .hours(24))
    deliver(.premium("grace", "grace"))
    let held = Expectation.free("payment_failed", "on_hold")
    edge(end + .days(7), .premium("grace", "grace"), held)
    deliver(held)
  }
}
