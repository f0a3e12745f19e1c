import Base

extension GoogleStory {
  /// Plans with add-ons: several items of one purchase. No story is longer than Google answers reads of the
  /// replaced purchase.
  static let adding = [
    GoogleStory(
      "add-on", "An add-on bought in mid-period comes on top of the plan, and goes alone"
    ) { story in
      let token = story.buyWithExtra(.premiumMonthly, .extraMonthly, after: .days(9))
      let both = StoryExpectation.premium("subscribed", "superseded", "active").extra
      let end = story.end(token)
      story.edge(end, both, .premium("leeway", "superseded", "active").extra)
      story.deliver(both)
      story.go(.days(4))
      story.store.removeItem("extra", from: token)
      story.deliver(both)
      story.edge(
        story.end(token), both, .premium("leeway", "superseded", "active"))
      story.deliver(.premium("subscribed", "superseded", "active"))
    },
    GoogleStory(
      "add-on-hold",
      "An add-on that cannot be paid takes the plan along; given up, the plan comes back"
    ) { story in
      let token = story.buyWithExtra(.premiumYearly, .extraYearly, after: .days(40))
      story.go(.days(10))
      story.store.hold(token, for: .extraYearly)
      story.deliver(.free("payment_failed", "superseded", "on_hold"))
      story.time(story.clock.now + .days(9), .free("payment_failed", "superseded", "on_hold"))
      story.go(.days(21))
      story.deliver(.premium("subscribed", "superseded", "active"))
      story.time(story.end(token) - .seconds(1), .premium("subscribed", "superseded", "active"))
    },
    GoogleStory("add-on-hold-paid", "An add-on that is paid late brings both back") { story in
      let token = story.buyWithExtra(.premiumYearly, .extraYearly, after: .days(40))
      story.go(.days(10))
      story.store.hold(token, for: .extraYearly)
      story.deliver(.free("payment_failed", "superseded", "on_hold"))
      story.go(.days(5))
      story.store.repairCard(token)
      story.deliver(.premium("subscribed", "superseded", "active").extra)
    },
    GoogleStory(
      "add-on-hold-unpaid",
      "What comes back from a hold without an order is a courtesy until something else is read"
    ) { story in
      let token = story.buyWithExtra(.premiumYearly, .extraYearly, after: .days(40))
      story.go(.days(10))
      story.store.hold(token, for: .extraYearly, keepsOrders: false)
      story.deliver(.free("payment_failed", "superseded", "on_hold"))
      story.go(.days(30))
      story.deliver(.premium("courtesy", "superseded", "active"))
      story.go(.days(9))
      story.store.cancel(token)
      story.deliver(.premium("courtesy", "superseded", "active"))
    },
  ]
}

extension GoogleRecorder {
  /// Buys a plan, and after a while an add-on to it, both delivered and acknowledged.
  fileprivate func buyWithExtra(
    _ plan: GooglePlan, _ extra: GooglePlan, after span: Instant.Span
  ) -> String {
    let old = buy(plan)
    go(span)
    let token = store.addToCart(extra, old)
    let both = Expectation.premium("subscribed", "superseded", "active").extra
    deliver(both, both, acknowledging: token)
    return token
  }
}
