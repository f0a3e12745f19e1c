import Base

/// How subscriptions begin, renew, fail and end.
extension StripeStory {
  static let buying: [StripeStory] = [
    StripeStory("first-purchase") { stripe in
      _ = stripe.buy(account: account)
    },
    StripeStory("first-purchase-by-api") { stripe in
      _ = stripe.subscribe(customer: stripe.addCustomer(), account: account)
    },
    StripeStory("renewal") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(1))
    },
    StripeStory("year-renewal") { stripe in
      let sub = stripe.buy(account: account, .premiumYearly)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(1))
    },
    StripeStory("first-payment-expires") { stripe in
      _ = stripe.subscribe(customer: stripe.addCustomer(.declines), account: account)
      stripe.run(for: .days(1))
    },
    StripeStory("first-payment-saved") { stripe in
      let sub = stripe.subscribe(customer: stripe.addCustomer(.declines), account: account)
      stripe.run(for: .hours(5))
      stripe.setCard(of: sub, .works)
      stripe.pay(invoice: stripe.latestInvoice(of: sub))
      stripe.run(for: .days(1))
    },
    StripeStory("bank-debit-succeeds") { stripe in
      let page = stripe.openCheckout(account: account)
      _ = stripe.completeDelayed(checkout: page)
      stripe.run(for: .days(4))
      stripe.settleDelayed(checkout: page, succeeds: true)
    },
    StripeStory("bank-debit-fails") { stripe in
      let page = stripe.openCheckout(account: account)
      _ = stripe.completeDelayed(checkout: page)
      stripe.run(for: .days(4))
      stripe.settleDelayed(checkout: page, succeeds: false)
      stripe.run(for: .days(16))
    },
    StripeStory("page-abandoned") { stripe in
      _ = stripe.openCheckout(account: account)
      stripe.run(for: .days(2))
    },
    StripeStory("page-abandoned-then-bought") { stripe in
      _ = stripe.openCheckout(account: account)
      stripe.run(for: .hours(20))
      _ = stripe.buy(account: account)
      stripe.run(for: .days(1))
    },
    StripeStory("failed-payment-recovery") { stripe in
      let sub = failRenewal(stripe)
      stripe.run(for: .days(2))
      stripe.setCard(of: sub, .works)
      stripe.run(for: .days(2))
    },
    StripeStory("failed-payment-paid-by-page") { stripe in
      let sub = failRenewal(stripe)
      stripe.run(for: .days(5))
      stripe.setCard(of: sub, .works)
      stripe.pay(invoice: stripe.latestInvoice(of: sub))
    },
    StripeStory("renewal-to-be-confirmed") { stripe in
      let sub = stripe.buy(account: account)
      stripe.setCard(of: sub, .needsConfirmation)
      stripe.run(until: stripe.periodEnd(of: sub))
      stripe.run(for: .hours(20))
      stripe.setCard(of: sub, .works)
      stripe.pay(invoice: stripe.latestInvoice(of: sub))
    },
    StripeStory("failed-payment-lapse") { stripe in
      _ = failRenewal(stripe)
      stripe.run(for: .days(20))
    },
    StripeStory("failed-payment-unpaid-then-paid", afterRetries: .markUnpaid) { stripe in
      let sub = failRenewal(stripe)
      stripe.run(for: .days(20))
      stripe.setCard(of: sub, .works)
      stripe.pay(invoice: stripe.latestInvoice(of: sub))
    },
    StripeStory("failed-payment-stays-past-due", afterRetries: .leavePastDue) { stripe in
      _ = failRenewal(stripe)
      stripe.run(for: .days(20))
    },
    StripeStory("one-second") { stripe in
      let sub = stripe.subscribe(customer: stripe.addCustomer(), account: account)
      stripe.delete(sub)
    },
    StripeStory("trial-then-paid") { stripe in
      let sub = beginTrial(stripe, .works, .createInvoice)
      stripe.run(until: stripe.periodEnd(of: sub) + .hours(2))
    },
    StripeStory("trial-then-paused-then-resumed") { stripe in
      let sub = beginTrial(stripe, .missing, .pause)
      stripe.run(for: .days(34))
      stripe.setCard(of: sub, .works)
      stripe.resume(sub)
    },
    StripeStory("trial-then-paused-resumption-unpaid") { stripe in
      let sub = beginTrial(stripe, .missing, .pause)
      stripe.run(for: .days(34))
      stripe.setCard(of: sub, .declines)
      stripe.resume(sub)
      stripe.run(for: .days(1))
    },
    StripeStory("trial-then-canceled") { stripe in
      _ = beginTrial(stripe, .missing, .cancel)
      stripe.run(for: .days(15))
    },
    StripeStory("trial-never-paid") { stripe in
      _ = beginTrial(stripe, .missing, .createInvoice)
      stripe.run(for: .days(31))
    },
    StripeStory("trial-canceled-within") { stripe in
      let sub = beginTrial(stripe, .works, .createInvoice)
      stripe.run(for: .days(5))
      stripe.cancel(sub)
      stripe.run(for: .days(10))
    },
  ]

  /// The second month begins and its payment fails; returns the subscription, two hours later.
  static func failRenewal(_ stripe: FakeStripe) -> String {
    let sub = stripe.buy(account: account)
    stripe.run(for: .days(20))
    stripe.setCard(of: sub, .declines)
    stripe.run(until: stripe.periodEnd(of: sub))
    stripe.run(for: .hours(2))
    return sub
  }

  private static func beginTrial(
    _ stripe: FakeStripe, _ card: StripeCard, _ missingCard: StripeMissingCard
  ) -> String {
    let page = stripe.openCheckout(account: account, trialDays: 14)
    return stripe.complete(checkout: page, card, missingCard: missingCard)
  }
}
