import Base

/// How subscriptions begin and renew.
extension StripeRecording {
  static let buying: [StripeRecording] = [
    StripeRecording(
      "first-purchase",
      "The first purchase lifts the cap; without a renewal it ends after a day of leeway"
    ) { story in
      let end = story.periodEnd(story.buy())
      story.edge(end, .subscribed, .leeway)
      story.edge(end + StoryExpectation.leewaySpan, .leeway, .lapsed)
    },
    StripeRecording("renewal", "A renewal joins the first period without a seam") { story in
      let sub = story.buy()
      let renewed = story.periodEnd(sub)
      story.go(to: renewed - .days(3))
      story.invoice("upcoming", .subscribed)
      story.go(to: renewed)
      // The snapshot already has the new period, which no one has paid.
      story.subscription("updated", .leeway)
      story.invoice("created", .leeway)
      story.go(to: renewed + .hours(1))
      story.invoice("finalized", .leeway)
      story.invoice("paid", .subscribed)
      let end = story.periodEnd(sub)
      story.edge(end, .subscribed, .leeway)
      story.time(end + StoryExpectation.leewaySpan, .lapsed)
    },
    StripeRecording(
      "trial-then-paid",
      "A trial gives the plan, its zero invoice no month, and the first payment does"
    ) { story in
      let sub = beginTrial(story, hasCard: true)
      let renewed = story.periodEnd(sub)
      story.time(renewed, .leeway)
      story.subscription("updated", .leeway)
      story.go(to: renewed + .hours(1))
      story.invoice("paid", .subscribed)
      story.time(story.periodEnd(sub) - .seconds(1), .subscribed)
    },
    StripeRecording(
      "trial-then-paused",
      "A trial that ends without a card is paused, and a resumption that is paid gives access"
    ) { story in
      let sub = beginTrial(story, hasCard: false)
      let ended = story.periodEnd(sub)
      story.go(to: ended)
      story.subscription("paused", .paused)
      story.time(ended + .days(20), .paused)
      story.store.setCard(of: sub, .works)
      story.store.resume(sub)
      story.invoice("paid", .subscribed)
      story.subscription("resumed", .subscribed)
      story.time(story.periodEnd(sub) - .seconds(1), .subscribed)
    },
    StripeRecording(
      "unknown-customer-linked-later",
      "Money of an unknown customer counts as soon as a session says whose it is"
    ) { story in
      let start = story.clock.now
      let page = story.store.openCheckout(account: story.account, marksSubscription: false)
      let sub = story.store.complete(checkout: page)
      story.subscription("created", .nobody)
      story.invoice("paid", .nobody)
      if !story.isBasil { story.subscription("updated", .nobody) }
      story.time(start + .hours(2), .nobody)
      // Stripe repeats a failed delivery for up to three days.
      story.go(to: start + .days(1))
      story.session("completed", .subscribed)
      story.time(story.periodEnd(sub) - .seconds(1), .subscribed)
    },
    StripeRecording(
      "unmapped-price", "A product that no plan names grants nothing until a known one is bought"
    ) { story in
      let sub = story.buy(.supportMonthly, paid: .pending)
      story.go(.days(5))
      story.store.changePrice(of: sub, to: .premiumMonthly)
      story.subscription("updated", .pending)
      story.invoice("paid", .subscribed)
    },
    StripeRecording(
      "ignored-product", "Another product of the same seller, named as such, grants no storage"
    ) { story in
      let sub = story.buy(.stickersMonthly, paid: .pending)
      story.time(story.periodEnd(sub) - .seconds(1), .pending)
    },
    StripeRecording(
      "duplicate-and-conflicting",
      "Repeated deliveries change nothing; one id with two meanings is merged and told"
    ) { story in
      let sub = story.buy()
      let end = story.periodEnd(sub)
      story.go(.hours(1))
      story.retry("invoice.paid", .subscribed)
      story.go(.hours(1))
      story.contradict("invoice.paid", end, with: end - .days(10), .subscribed)
      // Until the invoice is read again, coverage includes what either of its two values gives.
      story.time(end - .seconds(1), .subscribed)
      story.time(end + StoryExpectation.leewaySpan, .lapsed)
    },
    StripeRecording(
      "everything-else-is-recorded",
      "What billing does not use is recorded and answered 200, a thin event to be read"
    ) { story in
      let sub = story.buy()
      let customer = story.store.customer(of: sub)
      story.go(.days(1))
      story.store.changeEmail(ofCustomer: customer, to: "zoe.angstrom@example.com")
      story.tell("customer.updated", .subscribed)
      story.go(.hours(1))
      // Only a part of the money, so the period stays.
      story.store.refund(invoice: story.store.latestInvoice(of: sub), 100)
      story.tell("charge.refunded", .subscribed)
      story.go(.hours(1))
      story.store.grantCredit(toCustomer: customer)
      story.tell("billing.credit_grant.created", .subscribed)
      story.go(.hours(1))
      story.store.tellThinly(of: sub)
      story.tell("v1.customer.subscription.updated", .subscribed)
      story.go(to: story.periodEnd(sub) - .days(3))
      story.invoice("upcoming", .subscribed)
    },
  ]

  private static func beginTrial(_ story: StripeRecorder, hasCard: Bool) -> String {
    let page = story.store.openCheckout(account: story.account, trialDays: 14)
    let sub = story.store.complete(
      checkout: page, hasCard ? .works : .missing, missingCard: hasCard ? .createInvoice : .pause)
    story.session("completed", .pending)
    story.subscription("created", .trial)
    // No one paid: a zero invoice announces the trial.
    story.invoice("paid", .trial)
    story.go(to: story.periodEnd(sub) - .days(3))
    story.subscription("trial_will_end", .trial)
    story.time(story.periodEnd(sub) - .seconds(1), .trial)
    return sub
  }
}
