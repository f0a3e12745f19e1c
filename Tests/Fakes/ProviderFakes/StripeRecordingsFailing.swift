import Base

/// Cards that do not work, and payments that come late or never.
extension StripeRecording {
  static let failing: [StripeRecording] = [
    StripeRecording(
      "failed-payment-grace-recovery",
      "A failed renewal keeps access in grace until the card works again"
    ) { story in
      let (sub, renewed) = story.failRenewal()
      let end = story.periodEnd(sub)
      story.go(to: renewed + .days(3) + .hours(1))
      story.invoice("payment_failed", .grace)
      story.time(renewed + .days(5) - .seconds(1), .grace)
      story.go(to: renewed + .days(5))
      story.store.setCard(of: sub, .works)
      story.store.pay(invoice: story.store.latestInvoice(of: sub))
      story.invoice("paid", .subscribed)
      story.subscription("updated", .subscribed)
      story.time(renewed + StoryExpectation.graceSpan, .subscribed)
      story.edge(end, .subscribed, .leeway)
    },
    StripeRecording(
      "failed-payment-lapse", "A failed renewal ends access when its week of grace is over",
      settings: { $0.retrySpans = [.days(3), .days(5)] }
    ) { story in
      let (_, renewed) = story.failRenewal()
      story.go(to: renewed + .days(3) + .hours(1))
      story.invoice("payment_failed", .grace)
      story.edge(renewed + StoryExpectation.graceSpan, .grace, .unpaid)
      story.go(to: renewed + .days(8) + .hours(1))
      story.invoice("payment_failed", .unpaid)
      story.subscription("deleted", .unpaidEnded)
      story.time(renewed + .days(30), .unpaidEnded)
    },
    StripeRecording(
      "past-due-snapshot-before-invoice",
      "A failed renewal told backwards: past_due first, the older snapshot after it"
    ) { story in
      let sub = story.buy()
      let renewed = story.periodEnd(sub)
      story.store.setCard(of: sub, .declines)
      story.go(to: renewed + .hours(1))
      story.subscription("updated", .grace, newest: true)
      story.subscription("updated", .grace)
      story.go(.minutes(6))
      story.invoice("payment_failed", .grace)
      story.store.setCard(of: sub, .works)
      story.go(to: renewed + .days(3) + .hours(1))
      story.subscription("updated", .grace)
      story.go(.seconds(28))
      story.invoice("paid", .subscribed)
      story.time(story.periodEnd(sub) - .seconds(1), .subscribed)
    },
    StripeRecording(
      "one-second", "Created, updated and deleted within one second, told backwards, is ended"
    ) { story in
      let customer = story.store.addCustomer()
      let sub = story.store.subscribe(customer: customer, account: story.account)
      story.store.delete(sub)
      story.subscription("deleted", .neverPaid)
      story.subscription("updated", .neverPaid)
      story.subscription("created", .neverPaid)
    },
    StripeRecording(
      "first-payment-expires",
      "A first payment that never succeeds gives nothing and expires after 23 hours"
    ) { story in
      let start = story.clock.now
      let customer = story.store.addCustomer(.declines)
      _ = story.store.subscribe(customer: customer, account: story.account)
      story.subscription("created", .pending)
      story.invoice("payment_failed", .pending)
      story.go(to: start + .hours(23))
      story.subscription("updated", .neverPaid)
      story.invoice("voided", .neverPaid)
    },
    StripeRecording(
      "paid-after-deletion",
      "A renewal paid after the subscription was deleted gives its period and renews nothing"
    ) { story in
      let (sub, renewed) = story.failRenewal()
      let end = story.periodEnd(sub)
      story.go(to: renewed + .days(2))
      story.store.delete(sub)
      story.subscription("deleted", .unpaidEnded)
      story.go(to: renewed + .days(4))
      story.store.setCard(of: sub, .works)
      story.store.pay(invoice: story.store.latestInvoice(of: sub))
      story.invoice("paid", .subscribed)
      story.edge(end, .subscribed, .ended)
    },
    StripeRecording(
      "delayed-payment",
      "A bank debit grants nothing until the money is there, days after the session"
    ) { story in
      let (page, sub) = debit(story)
      story.store.settleDelayed(checkout: page, succeeds: true)
      story.session("async_payment_succeeded", .pending)
      story.invoice("paid", .subscribed)
      story.payment(.subscribed)
      story.edge(story.periodEnd(sub), .subscribed, .leeway)
    },
    StripeRecording(
      "delayed-payment-fails",
      "A bank debit that bounces has granted nothing, and the subscription ends",
      settings: { $0.retrySpans = [.days(2)] }
    ) { story in
      let (page, _) = debit(story)
      let bounced = story.clock.now
      story.store.settleDelayed(checkout: page, succeeds: false)
      story.session("async_payment_failed", .pending)
      story.invoice("payment_failed", .pending)
      story.subscription("updated", .free("never_subscribed", "on_hold"))
      story.go(to: bounced + .days(2))
      story.subscription("deleted", .neverPaid)
    },
    StripeRecording(
      "renewal-written-off",
      "A renewal written off as bad debt gives nothing, though the subscription is active"
    ) { story in
      let sub = story.buy()
      let renewed = story.periodEnd(sub)
      story.store.setCard(of: sub, .declines)
      story.go(to: renewed)
      story.subscription("updated", .leeway)
      story.go(to: renewed + .hours(2))
      story.store.markUncollectible(invoice: story.store.latestInvoice(of: sub))
      story.invoice("marked_uncollectible", .unpaid)
      story.time(renewed + .days(1), .unpaid)
    },
    StripeRecording(
      "collection-paused-and-resumed",
      "Collection that is paused is no paused subscription: the month is given, then paid"
    ) { story in
      let sub = story.buy()
      let renewed = story.periodEnd(sub)
      story.go(.days(20))
      story.store.pauseCollection(of: sub, .void)
      story.subscription("updated", .subscribed)
      story.go(to: renewed)
      story.subscription("updated", .leeway)
      story.go(to: renewed + .hours(1))
      story.invoice("voided", .courtesy)
      story.go(to: renewed + .days(10))
      story.store.resumeCollection(of: sub)
      story.subscription("updated", .courtesy)
      let again = story.periodEnd(sub)
      story.time(again - .seconds(1), .courtesy)
      story.go(to: again + .hours(1))
      story.invoice("paid", .subscribed)
      story.time(story.periodEnd(sub) - .seconds(1), .subscribed)
    },
  ]

  /// A purchase by bank debit, five days ago: everything is there except the money.
  private static func debit(_ story: StripeRecorder) -> (page: String, subscription: String) {
    let start = story.clock.now
    story.time(start - .minutes(1), .nobody)
    let page = story.store.openCheckout(account: story.account)
    let sub = story.store.completeDelayed(checkout: page)
    story.session("completed", .pending)
    // For a subscription alone, the payment would merely count as not yet seen.
    story.invoice("finalized", .pending)
    story.subscription("created", .pending)
    story.subscription("updated", .pending)
    story.time(start + .days(4), .pending)
    story.go(to: start + .days(5))
    return (page, sub)
  }
}
