import Base

/// Cancellations, changes of plan, and customers who leave and come back.
extension StripeRecording {
  static let changing: [StripeRecording] = [
    StripeRecording(
      "upgrade-to-year",
      "An upgrade from month to year begins the year at once and credits the month"
    ) { story in
      let sub = story.buy()
      let month = story.periodEnd(sub)
      story.go(.days(10))
      story.store.changePrice(of: sub, to: .premiumYearly)
      story.subscription("updated", .subscribed)
      story.invoice("paid", .subscribed)
      story.time(month + .days(2), .subscribed)
      let end = story.periodEnd(sub)
      story.edge(end, .subscribed, .leeway)
      story.time(end + StoryExpectation.leewaySpan, .lapsed)
    },
    StripeRecording(
      "upgrade-unpaid", "An upgrade whose proration stays unpaid leaves what was paid, then grace",
      settings: { $0.afterRetries = .leavePastDue }
    ) { story in
      let sub = story.buy()
      let paidUntil = story.periodEnd(sub)
      story.go(.days(10))
      let at = story.clock.now
      story.store.setCard(of: sub, .declines)
      story.store.changePrice(of: sub, to: .premiumYearly)
      story.invoice("payment_failed", .subscribed)
      story.subscription("updated", .subscribed)
      story.time(at + StoryExpectation.graceSpan + .days(1), .subscribed)
      story.edge(paidUntil, .subscribed, .grace)
      story.time(paidUntil + StoryExpectation.graceSpan, .unpaid)
    },
    StripeRecording(
      "downgrade-to-month",
      "A change from year to month ends with the month; the year does not come back"
    ) { story in
      let sub = story.buy(.premiumYearly)
      story.go(.days(40))
      story.store.changePrice(of: sub, to: .premiumMonthly)
      story.subscription("updated", .subscribed)
      story.invoice("paid", .subscribed)
      let renewed = story.periodEnd(sub)
      story.time(renewed, .leeway)
      // The remaining value of the year pays for the next months.
      story.go(to: renewed + .hours(1))
      story.invoice("paid", .subscribed)
      let end = story.periodEnd(sub)
      story.edge(end, .subscribed, .leeway)
      story.time(end + StoryExpectation.leewaySpan, .lapsed)
    },
    StripeRecording(
      "pending-update-expires",
      "An upgrade that waits for its payment and never gets it leaves the plan as it was"
    ) { story in
      let sub = story.buy()
      story.go(.days(10))
      let at = story.clock.now
      story.store.setCard(of: sub, .needsConfirmation)
      story.store.changePrice(of: sub, to: .premiumYearly, .pendingIfIncomplete)
      story.subscription("updated", .subscribed)
      story.invoice("payment_action_required", .subscribed)
      story.go(to: at + .hours(23))
      story.subscription("pending_update_expired", .subscribed)
      story.invoice("voided", .subscribed)
      story.edge(story.periodEnd(sub), .subscribed, .leeway)
    },
  ]

  static let ending: [StripeRecording] = [
    StripeRecording(
      "cancel-at-period-end", "A cancel at the period's end ends exactly then: no grace, no leeway"
    ) { story in
      let sub = story.buy()
      let end = story.periodEnd(sub)
      story.go(.days(9))
      story.cancel(sub)
      story.edge(end, .subscribed, .ended)
      story.subscription("deleted", .ended)
    },
    StripeRecording(
      "cancel-at-date", "A cancel with a date instead of the flag ends exactly then, too"
    ) { story in
      let sub = story.buy()
      let end = story.periodEnd(sub)
      story.go(.days(9))
      story.cancel(sub, on: end)
      story.edge(end, .subscribed, .ended)
      story.subscription("deleted", .ended)
    },
    StripeRecording("uncancel", "A cancel taken back renews as if nothing had been") { story in
      let sub = story.buy()
      let renewed = story.periodEnd(sub)
      story.go(.days(9))
      story.cancel(sub)
      story.go(.days(3))
      story.store.uncancel(sub)
      story.subscription("updated", .subscribed)
      story.time(renewed, .leeway)
      story.go(to: renewed + .hours(1))
      story.invoice("paid", .subscribed)
      story.time(story.periodEnd(sub) - .seconds(1), .subscribed)
    },
    StripeRecording("immediate-delete", "An immediate end by the seller ends access at once") {
      story in
      let sub = story.buy()
      let end = story.periodEnd(sub)
      story.time(story.clock.now + .days(10), .subscribed)
      story.store.delete(sub)
      story.subscription("deleted", .ended)
      story.time(end, .ended)
    },
    StripeRecording(
      "customer-deleted", "A customer who is deleted at Stripe has nothing from then on"
    ) { story in
      let sub = story.buy()
      let end = story.periodEnd(sub)
      story.go(.days(12))
      story.store.delete(customer: story.store.customer(of: sub))
      story.tell("customer.deleted", .ended)
      story.subscription("deleted", .ended)
      story.time(end, .ended)
    },
    StripeRecording(
      "resubscribe", "Who cancelled and comes back buys a new subscription, which counts by itself"
    ) { story in
      let old = story.buyAndPay()
      let end = story.periodEnd(old)
      story.go(.days(9))
      story.cancel(old)
      story.time(end, .ended)
      story.subscription("deleted", .ended)
      story.time(end + .days(20), .ended)
      let page = story.store.openCheckout(
        account: story.account, customer: story.store.customer(of: old))
      let new = story.store.complete(checkout: page)
      let both = StoryExpectation.premium("subscribed", "expired", "active")
      let unseen: StoryExpectation =
        story.isBasil
        ? .premium("leeway", "expired", "active") : .free("lapsed", "expired", "pending")
      story.subscription("created", unseen)
      story.invoice("paid", both)
      if !story.isBasil { story.subscription("updated", both) }
      story.session("completed", both)
      story.edge(
        story.periodEnd(new), both, .premium("leeway", "expired", "active"))
    },
  ]
}
