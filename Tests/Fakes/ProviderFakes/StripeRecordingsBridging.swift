import Base

/// Access between a paid period and the next paid period.
extension StripeRecording {
  static let bridging: [StripeRecording] = [
    StripeRecording(
      "upgrade-billed-at-the-renewal",
      "An upgrade that the next invoice bills holds while that invoice is drafted, fails and is retried"
    ) { story in
      let sub = story.buy()
      let renewed = story.periodEnd(sub)
      story.go(.days(10))
      story.store.changePrice(of: sub, to: .plusMonthly, .nextInvoice)
      story.subscription("updated", .plus())
      story.store.setCard(of: sub, .declines)
      story.go(to: renewed)
      story.subscription("updated", .plus("leeway"), newest: true)
      story.invoice("created", .plus("leeway"))
      story.go(to: renewed + .hours(1))
      story.invoice("payment_failed", .plus("grace", "grace"))
      story.subscription("updated", .plus("grace", "grace"), newest: true)
      story.go(to: renewed + .days(5))
      story.store.setCard(of: sub, .works)
      story.store.pay(invoice: story.store.latestInvoice(of: sub))
      story.invoice("paid", .plus())
      story.edge(story.periodEnd(sub), .plus(), .plus("leeway"))
    },
    StripeRecording(
      "collection-resumed-after-a-renewal",
      "A renewal that paused collection wrote off stays forgiven when collection goes on"
    ) { story in
      let sub = story.buy()
      let renewed = story.periodEnd(sub)
      story.go(.days(10))
      story.store.pauseCollection(of: sub, .markUncollectible)
      story.subscription("updated", .subscribed)
      story.go(to: renewed + .hours(2))
      story.invoice("marked_uncollectible", .courtesy)
      story.go(.days(10))
      story.store.resumeCollection(of: sub)
      story.subscription("updated", .courtesy, newest: true)
      story.edge(story.periodEnd(sub), .courtesy, .leeway)
    },
  ]
}
