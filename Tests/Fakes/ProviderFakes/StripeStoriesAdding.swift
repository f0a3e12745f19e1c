import Base

/// A plan and its additions on one subscription.
extension StripeStory {
  static let adding: [StripeStory] = [
    StripeStory("addition-bought-together") { stripe in
      let sub = buyTogether(stripe)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(1))
    },
    StripeStory("addition-bought-within") { stripe in
      let sub = buyWithin(stripe)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(1))
    },
    StripeStory("addition-bought-within-on-the-next-invoice") { stripe in
      let sub = buyWithin(stripe, .nextInvoice)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(1))
    },
    StripeStory("addition-unpaid", afterRetries: .leavePastDue) { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(10))
      stripe.setCard(of: sub, .declines)
      stripe.add(.extraMonthly, to: sub)
      stripe.run(for: .days(5))
    },
    StripeStory("addition-then-failed-renewal") { stripe in
      let sub = buyWithin(stripe)
      stripe.setCard(of: sub, .declines)
      stripe.run(until: stripe.periodEnd(of: sub))
      stripe.run(for: .days(20))
    },
    StripeStory("addition-then-failed-renewal-recovery") { stripe in
      let sub = buyTogether(stripe)
      stripe.setCard(of: sub, .declines)
      stripe.run(until: stripe.periodEnd(of: sub))
      stripe.run(for: .days(2))
      stripe.setCard(of: sub, .works)
      stripe.run(for: .days(2))
    },
    StripeStory("addition-removed") { stripe in
      let sub = buyWithin(stripe)
      stripe.run(for: .days(8))
      stripe.remove(.extraMonthly, from: sub)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(1))
    },
    StripeStory("addition-removed-on-the-next-invoice") { stripe in
      let sub = buyTogether(stripe)
      stripe.run(for: .days(18))
      stripe.remove(.extraMonthly, from: sub, .nextInvoice)
      stripe.run(for: .days(2))
    },
    StripeStory("addition-stays-while-the-plan-changes") { stripe in
      let sub = buyTogether(stripe)
      stripe.run(for: .days(10))
      stripe.changePrice(of: sub, to: .plusMonthly)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(1))
    },
    StripeStory("addition-stays-while-the-plan-is-scheduled-down") { stripe in
      let sub = stripe.subscribe(
        customer: stripe.addCustomer(), account: account, .plusMonthly, with: [.extraMonthly])
      stripe.run(for: .days(10))
      stripe.schedulePrice(of: sub, .premiumMonthly)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(1))
    },
    StripeStory("addition-refunded-alone") { stripe in
      let sub = buyWithin(stripe)
      stripe.run(for: .days(2))
      stripe.refund(invoice: stripe.latestInvoice(of: sub))
      stripe.run(for: .days(3))
    },
    StripeStory("addition-canceled-with-its-plan") { stripe in
      let sub = buyTogether(stripe)
      stripe.run(for: .days(9))
      stripe.cancel(sub)
      stripe.run(for: .days(25))
    },
  ]

  private static func buyTogether(_ stripe: FakeStripe) -> String {
    stripe.subscribe(customer: stripe.addCustomer(), account: account, with: [.extraMonthly])
  }

  /// The addition is bought ten days after the plan.
  private static func buyWithin(
    _ stripe: FakeStripe, _ proration: StripeProration = .alwaysInvoice
  ) -> String {
    let sub = stripe.buy(account: account)
    stripe.run(for: .days(10))
    stripe.add(.extraMonthly, to: sub, proration)
    return sub
  }
}
