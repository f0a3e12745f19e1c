import Base

/// Invoices that are sent, payments by other means than a card, and features new in endive.
extension StripeRecording {
  static let arranging: [StripeRecording] = [
    StripeRecording(
      "sent-invoice-paid",
      "An invoice that was sent is access until it is due, and paid for once it is paid"
    ) { story in
      let start = story.clock.now
      let sub = send(story, daysUntilDue: 30)
      story.invoice("finalized", .nobody)
      story.subscription("created", .courtesy)
      story.time(start + .days(20) - .seconds(1), .courtesy)
      story.go(to: start + .days(20))
      story.store.pay(invoice: story.store.latestInvoice(of: sub))
      story.invoice("paid", .subscribed)
      story.payment(.subscribed)
      story.edge(story.periodEnd(sub), .subscribed, .leeway)
    },
    StripeRecording(
      "sent-invoice-never-paid",
      "A renewal that was sent and never paid is access until it is due, then grace, then none"
    ) { story in
      let sub = send(story, daysUntilDue: 14)
      let renewed = story.periodEnd(sub)
      story.store.pay(invoice: story.store.latestInvoice(of: sub))
      story.invoice("paid", .nobody)
      story.subscription("created", .subscribed)
      story.go(to: renewed)
      story.subscription("updated", .leeway)
      story.go(to: renewed + .hours(1))
      story.invoice("finalized", .courtesy, newest: true)
      let due = renewed + .days(14)
      story.edge(due, .courtesy, .grace)
      story.go(to: due + .minutes(1))
      story.subscription("updated", .grace)
      story.edge(due + StoryExpectation.graceSpan, .grace, .unpaid)
    },
    StripeRecording(
      "paid-outside-stripe", "Money that came by other ways than Stripe's pays for its period"
    ) { story in
      let sub = send(story, daysUntilDue: 30)
      let end = story.periodEnd(sub)
      story.store.markPaid(invoice: story.store.latestInvoice(of: sub))
      story.invoice("paid", .nobody)
      story.subscription("created", .subscribed)
      story.edge(end, .subscribed, .leeway)
      story.time(end + StoryExpectation.leewaySpan, .lapsed)
    },
    StripeRecording(
      "active-without-an-invoice",
      "An active subscription that names no invoice is a day of leeway, and no more"
    ) { story in
      let start = story.clock.now
      story.time(start - .minutes(1), .nobody)
      let customer = story.store.addCustomer()
      _ = story.store.subscribeUnbilled(customer: customer, account: story.account)
      story.subscription("created", .leeway)
      story.edge(start + StoryExpectation.leewaySpan, .leeway, .lapsed)
    },
  ]

  /// The seller makes the subscription, so there is no page; its invoice was just sent.
  private static func send(_ story: StripeRecorder, daysUntilDue: Int64) -> String {
    story.time(story.clock.now - .minutes(1), .nobody)
    let customer = story.store.addCustomer()
    let sub = story.store.subscribe(
      customer: customer, account: story.account, daysUntilDue: daysUntilDue)
    story.go(.hours(1))
    return sub
  }

  static let endive: [StripeRecording] = [
    StripeRecording(
      "paused-on-request-and-resumed",
      "A pause on request ends access then; resumed, a new period is paid for"
    ) { story in
      let sub = story.buy()
      let at = story.clock.now + .days(10)
      story.time(at - .seconds(1), .subscribed)
      story.go(to: at)
      story.store.pause(sub, .requested)
      story.subscription("paused", .paused)
      story.time(at + .days(30), .paused)
      story.store.resume(sub)
      story.invoice("paid", .paused)
      story.subscription("resumed", .subscribed)
      story.edge(story.periodEnd(sub), .subscribed, .leeway)
    },
    StripeRecording(
      "paused-after-a-failed-payment",
      "A pause because a payment failed is grace, then none; paid and resumed, access is back"
    ) { story in
      let (sub, renewed) = story.failRenewal()
      let end = story.periodEnd(sub)
      let paused = StoryExpectation.free("payment_failed", "paused")
      story.store.pause(sub, .firstPaymentFailure)
      story.subscription("paused", .grace)
      story.edge(renewed + StoryExpectation.graceSpan, .grace, paused)
      story.go(to: renewed + .days(10))
      story.store.setCard(of: sub, .works)
      story.store.pay(invoice: story.store.latestInvoice(of: sub))
      story.invoice("paid", paused)
      story.subscription("resumed", .subscribed)
      story.edge(end, .subscribed, .leeway)
    },
    StripeRecording(
      "dispute-appealed-and-won",
      "A dispute that was lost and is won on appeal gives the period back"
    ) { story in
      let (sub, dispute) = contest(story)
      story.go(.days(5))
      story.store.close(dispute: dispute, isWon: false)
      story.tell("charge.dispute.closed", .revoked)
      story.go(.days(2))
      story.store.appeal(dispute: dispute)
      story.tell("charge.dispute.updated", .revoked)
      story.go(.days(2))
      story.store.answer(dispute: dispute)
      story.tell("charge.dispute.updated", .revoked)
      story.go(.days(6))
      story.store.close(dispute: dispute, isWon: true)
      story.tell("charge.dispute.closed", .subscribed)
      story.edge(story.periodEnd(sub), .subscribed, .leeway)
    },
    StripeRecording(
      "renewal-forgiven-to-the-user",
      "A renewal that the seller forgave is given; one written off for another reason is not"
    ) { story in
      let sub = story.buy()
      story.store.setCard(of: sub, .declines)
      let outcomes: [(reason: String, expected: StoryExpectation)] = [
        ("user_forgiven", .courtesy), ("payment_not_received", .unpaid),
      ]
      for (reason, expected) in outcomes {
        let renewed = story.periodEnd(sub)
        story.go(to: renewed)
        story.subscription("updated", .leeway, newest: true)
        story.go(to: renewed + .hours(2))
        story.store.markUncollectible(invoice: story.store.latestInvoice(of: sub), reason)
        story.invoice("marked_uncollectible", expected)
        story.time(renewed + .days(2), expected)
      }
    },
  ]
}
