import Base

/// Changes by customers and the seller.
extension StripeStory {
  static let changing: [StripeStory] = cancels + prices + pauses + owners

  private static let cancels: [StripeStory] = [
    StripeStory("cancel-at-period-end") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(9))
      stripe.cancel(sub)
      stripe.run(for: .days(25))
    },
    StripeStory("cancel-on-the-date-of-the-period-end") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(9))
      stripe.cancel(sub, on: stripe.periodEnd(of: sub))
      stripe.run(for: .days(25))
    },
    StripeStory("cancel-on-a-date-within") { stripe in
      let sub = stripe.buy(account: account)
      stripe.cancel(sub, on: stripe.clock.now + .days(12))
      stripe.run(for: .days(15))
    },
    StripeStory("cancel-and-uncancel") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(9))
      stripe.cancel(sub)
      stripe.run(for: .days(3))
      stripe.uncancel(sub)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(1))
    },
    StripeStory("deleted-at-once") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(10))
      stripe.delete(sub)
    },
    StripeStory("customer-deleted") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(10))
      stripe.delete(customer: stripe.customer(of: sub))
    },
    StripeStory("resubscribed-at-the-store") { stripe in
      let sub = stripe.buy(account: account)
      stripe.cancel(sub)
      stripe.run(for: .days(40))
      _ = stripe.buy(account: account, customer: stripe.customer(of: sub))
    },
    StripeStory("left-for-another-store") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(29))
      stripe.cancel(sub)
      stripe.run(for: .days(30))
    },
  ]

  private static let prices: [StripeStory] = [
    StripeStory("upgrade-to-year") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(10))
      stripe.changePrice(of: sub, to: .premiumYearly)
      stripe.run(for: .days(30))
    },
    StripeStory("upgrade-of-tier-paid-at-once") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(10))
      stripe.changePrice(of: sub, to: .plusMonthly)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(1))
    },
    StripeStory("upgrade-of-tier-on-the-next-invoice") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(10))
      stripe.changePrice(of: sub, to: .plusMonthly, .nextInvoice)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(1))
    },
    StripeStory("upgrade-on-the-next-invoice-that-fails", afterRetries: .leavePastDue) { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(10))
      stripe.changePrice(of: sub, to: .plusMonthly, .nextInvoice)
      stripe.setCard(of: sub, .declines)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(4))
      stripe.setCard(of: sub, .works)
      stripe.run(for: .days(3))
    },
    StripeStory("upgrade-unpaid", afterRetries: .leavePastDue) { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(10))
      stripe.setCard(of: sub, .declines)
      stripe.changePrice(of: sub, to: .premiumYearly)
      stripe.run(for: .days(30))
    },
    StripeStory("upgrade-unpaid-then-paid") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(10))
      stripe.setCard(of: sub, .declines)
      stripe.changePrice(of: sub, to: .premiumYearly)
      stripe.run(for: .days(1))
      stripe.setCard(of: sub, .works)
      stripe.run(for: .days(3))
    },
    StripeStory("upgrade-pending-then-applied") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(10))
      stripe.setCard(of: sub, .declines)
      stripe.changePrice(of: sub, to: .premiumYearly, .pendingIfIncomplete)
      stripe.run(for: .hours(3))
      stripe.setCard(of: sub, .works)
      stripe.pay(invoice: stripe.latestInvoice(of: sub))
      stripe.run(for: .days(30))
    },
    StripeStory("upgrade-pending-then-expired") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(10))
      stripe.setCard(of: sub, .declines)
      stripe.changePrice(of: sub, to: .plusMonthly, .pendingIfIncomplete)
      stripe.run(for: .days(2))
    },
    StripeStory("downgrade-to-month-at-once") { stripe in
      let sub = stripe.buy(account: account, .premiumYearly)
      stripe.run(for: .days(10))
      stripe.changePrice(of: sub, to: .premiumMonthly)
      stripe.run(for: .days(32))
    },
    StripeStory("downgrade-at-period-end") { stripe in
      let sub = stripe.buy(account: account, .plusMonthly)
      stripe.run(for: .days(10))
      stripe.schedulePrice(of: sub, .premiumMonthly)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(1))
    },
  ]

  private static let pauses: [StripeStory] = StripeCollectionPause.allCases.map { behavior in
    StripeStory("collection-paused-\(behavior.rawValue)") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(10))
      stripe.pauseCollection(of: sub, behavior, resumesAt: start + .days(45))
      stripe.run(for: .days(55))
    }
  }

  private static let owners: [StripeStory] = [
    .deciding("bought-without-an-account-then-claimed") { stripe in
      let sub = stripe.subscribe(customer: stripe.addCustomer(), account: nil)
      stripe.run(for: .hours(6))
      return [.claim(subscription: sub, by: account, at: stripe.clock.now)]
    },
    .deciding("account-deleted-while-subscribed") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(10))
      let deleted = stripe.clock.now
      stripe.run(until: stripe.periodEnd(of: sub) + .days(1))
      return [.deleteAccount(account, at: deleted)]
    },
    StripeStory("two-subscriptions") { stripe in
      let first = stripe.buy(account: account)
      stripe.run(for: .days(5))
      _ = stripe.buy(account: account, .plusMonthly, customer: stripe.customer(of: first))
      stripe.run(for: .days(3))
      stripe.cancel(first)
    },
    StripeStory("two-accounts") { stripe in
      _ = stripe.buy(account: account)
      let second = stripe.buy(account: other, .premiumYearly)
      stripe.run(for: .days(3))
      stripe.delete(second)
    },
    StripeStory("other-products") { stripe in
      _ = stripe.buy(account: account, .stickersMonthly)
      _ = stripe.buy(account: account, .supportMonthly)
    },
  ]
}
