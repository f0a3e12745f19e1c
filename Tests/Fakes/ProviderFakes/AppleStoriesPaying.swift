import Base

extension AppleStory {
  /// Buying, renewing, and cards that do not work.
  static let paying = [
    AppleStory("first-purchase", "The first purchase lifts the cap") { story in
      let id = story.buy()
      story.time(story.store.expiry(of: id) - .hours(7), .premium())
    },
    AppleStory(
      "claimed-purchase",
      "A purchase on the store's own page names no account and waits for the app's claim"
    ) { story in
      let id = story.store.buy(.premiumMonthly, for: story.account, namesAccount: false)
      story.deliver(.nobody)
      story.go(.minutes(4))
      story.claim(id, .premium())
      story.renew(id, .premium())
    },
    AppleStory(
      "claimed-before-delivery", "The app's claim may come before the notification, or without it"
    ) { story in
      let id = story.store.buy(.premiumMonthly, for: story.account, namesAccount: false)
      story.claim(id, .premium())
      story.deliver(.premium())
    },
    AppleStory(
      "renewal", "Renewals join without a seam, told early or late, and repetitions change nothing"
    ) { story in
      let id = story.buy()
      let end = story.store.expiry(of: id)
      story.renew(id, .premium())
      story.edge(end, .premium(), .premium())
      // The second renewal's notification waits for three hours, as if our server had been down.
      let second = story.store.expiry(of: id)
      story.edge(second, .premium(), .premium("leeway"))
      story.go(.hours(3))
      story.deliver(.premium())
      story.repeatLast(.premium())
      story.time(story.store.expiry(of: id) - .hours(7), .premium())
    },
    AppleStory("trial-then-paid", "A free trial gives access, and its end is the first payment") {
      story in
      story.time(story.clock.now - .seconds(60), .nobody)
      let id = story.store.buy(.premiumMonthly, for: story.account, trialDays: 14)
      story.deliver(.premium("trial", "trialing"))
      let end = story.store.expiry(of: id)
      story.renew(id, .premium("trial", "trialing"))
      story.edge(end, .premium("trial", "trialing"), .premium())
    },
    AppleStory("trial-cancelled", "A trial that is cancelled ends with its last day, unpaid") {
      story in
      story.time(story.clock.now - .seconds(60), .nobody)
      let id = story.store.buy(.premiumMonthly, for: story.account, trialDays: 14)
      story.deliver(.premium("trial", "trialing"))
      story.go(.days(3))
      story.store.turnOffRenewal(id)
      story.deliver(.premium("trial", "trialing"))
      let over = StoryExpectation.free("lapsed", "expired")
      story.edge(story.store.expiry(of: id), .premium("trial", "trialing"), over)
      story.deliver(over)
    },
    AppleStory(
      "failed-grace-recovery", "A failed renewal is grace; recovered in it, the renewal day stays"
    ) { story in
      let id = story.buy()
      let end = story.store.expiry(of: id)
      story.store.breakCard(id)
      story.go(to: end)
      story.deliver(.premium("grace", "grace"))
      story.time(end + .days(5), .premium("grace", "grace"))
      story.go(.hours(2))
      story.store.repairCard(id)
      story.deliver(.premium())
      story.renew(id, .premium())
      story.time(end.adding(months: 1) + .days(1), .premium())
    },
    AppleStory(
      "failed-grace-late",
      "Where word of a failure comes late, leeway bridges it, and grace is the store's own"
    ) { story in
      let id = story.buy()
      let end = story.store.expiry(of: id)
      story.store.breakCard(id)
      story.edge(end, .premium(), .premium("leeway"))
      story.go(.hours(10))
      story.deliver(.premium("grace", "grace"))
      let held = StoryExpectation.free("payment_failed", "on_hold")
      story.edge(end + .days(16), .premium("grace", "grace"), held)
      story.deliver(held)
    },
    AppleStory(
      "failed-grace-lapse", "Grace ends to the millisecond; after 60 days the store gives up"
    ) { story in
      let id = story.buy()
      let end = story.store.expiry(of: id)
      story.fallIntoRetry(id)
      story.go(to: end + .days(60))
      story.deliver(.free("payment_failed", "expired"))
    },
    AppleStory(
      "failed-grace-late-recovery", "Recovered after grace, a period of its own begins that day"
    ) { story in
      let id = story.buy()
      story.fallIntoRetry(id)
      story.go(.days(12))
      story.store.repairCard(id)
      story.deliver(.premium())
      story.time(story.store.expiry(of: id) - .hours(7), .premium())
    },
    AppleStory(
      "failed-without-grace", "Without grace access ends with the period, until it is paid",
      settings: { $0.graceDays = 0 }
    ) { story in
      let id = story.buy()
      story.store.breakCard(id)
      story.go(to: story.store.expiry(of: id))
      story.deliver(.free("payment_failed", "on_hold"))
      story.go(.days(9))
      story.store.repairCard(id)
      story.deliver(.premium())
    },
    AppleStory(
      "failed-lapse", "A renewal that nobody pays is given up after 60 days",
      settings: { $0.graceDays = 0 }
    ) { story in
      let id = story.buy()
      let end = story.store.expiry(of: id)
      story.store.breakCard(id)
      story.go(to: end)
      story.deliver(.free("payment_failed", "on_hold"))
      story.go(to: end + .days(60))
      story.deliver(.free("payment_failed", "expired"))
    },
  ]
}

extension AppleRecorder {
  /// The renewal fails, grace passes, and the store continues to retry.
  fileprivate func fallIntoRetry(_ id: String) {
    let end = store.expiry(of: id)
    store.breakCard(id)
    go(to: end)
    deliver(.premium("grace", "grace"))
    let held = Expectation.free("payment_failed", "on_hold")
    edge(end + .days(16), .premium("grace", "grace"), held)
    deliver(held)
  }
}
