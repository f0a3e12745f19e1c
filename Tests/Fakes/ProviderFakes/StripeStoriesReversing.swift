import Base

/// Money that goes back, is contested, or comes in unusual ways.
extension StripeStory {
  static let reversing: [StripeStory] = refunds + disputes + oddInvoices

  private static let refunds: [StripeStory] = [
    StripeStory("refund-of-the-current-period") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(3))
      stripe.refund(invoice: stripe.latestInvoice(of: sub))
    },
    StripeStory("refund-and-end") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(3))
      stripe.refund(invoice: stripe.latestInvoice(of: sub))
      stripe.delete(sub)
    },
    StripeStory("refund-in-part") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(3))
      stripe.refund(invoice: stripe.latestInvoice(of: sub), 120)
    },
    StripeStory("refund-in-two-parts") { stripe in
      let sub = stripe.buy(account: account, .premiumYearly)
      stripe.run(for: .days(3))
      stripe.refund(invoice: stripe.latestInvoice(of: sub), 1200)
      stripe.run(for: .days(1))
      stripe.refund(invoice: stripe.latestInvoice(of: sub), 1800)
    },
    StripeStory("refund-of-an-earlier-period") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(5))
      stripe.refund(invoice: stripe.invoices(of: sub)[0])
    },
    StripeStory("refund-of-the-second-period") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(5))
      stripe.refund(invoice: stripe.latestInvoice(of: sub))
    },
    StripeStory("refund-then-failed") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(3))
      let refund = stripe.refund(invoice: stripe.latestInvoice(of: sub))
      stripe.run(for: .days(6))
      stripe.settle(refund: refund, succeeds: false)
    },
    StripeStory("refund-failed-then-again") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(3))
      let refund = stripe.refund(invoice: stripe.latestInvoice(of: sub))
      stripe.run(for: .days(6))
      stripe.settle(refund: refund, succeeds: false)
      stripe.run(for: .days(1))
      stripe.refund(invoice: stripe.latestInvoice(of: sub))
    },
    StripeStory("refund-pending-then-succeeded") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(3))
      let refund = stripe.refund(invoice: stripe.latestInvoice(of: sub), isPending: true)
      stripe.run(for: .days(2))
      stripe.settle(refund: refund, succeeds: true)
    },
    StripeStory("refund-of-an-upgrade") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(10))
      stripe.changePrice(of: sub, to: .premiumYearly)
      stripe.run(for: .days(1))
      stripe.refund(invoice: stripe.latestInvoice(of: sub))
      stripe.cancel(sub)
    },
  ]

  private static let disputes: [StripeStory] = [
    StripeStory("dispute-won") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(3))
      let dispute = stripe.dispute(invoice: stripe.latestInvoice(of: sub))
      stripe.run(for: .days(20))
      stripe.close(dispute: dispute, isWon: true)
    },
    StripeStory("dispute-lost") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(3))
      let dispute = stripe.dispute(invoice: stripe.latestInvoice(of: sub))
      stripe.run(for: .days(20))
      stripe.close(dispute: dispute, isWon: false)
    },
    StripeStory("dispute-of-an-earlier-period-lost") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(until: stripe.periodEnd(of: sub) + .days(5))
      let dispute = stripe.dispute(invoice: stripe.invoices(of: sub)[0])
      stripe.run(for: .days(14))
      stripe.close(dispute: dispute, isWon: false)
    },
    StripeStory("enquiry-closed") { stripe in
      let sub = stripe.buy(account: account)
      stripe.run(for: .days(3))
      let dispute = stripe.dispute(
        invoice: stripe.latestInvoice(of: sub), reason: "unrecognized", isWarning: true)
      stripe.run(for: .days(10))
      stripe.close(dispute: dispute, isWon: true)
    },
  ]

  private static let oddInvoices: [StripeStory] = [
    StripeStory("invoice-voided-while-past-due") { stripe in
      let sub = failRenewal(stripe)
      stripe.run(for: .days(1))
      stripe.void(invoice: stripe.latestInvoice(of: sub))
    },
    StripeStory("invoice-uncollectible-then-paid") { stripe in
      let sub = failRenewal(stripe)
      stripe.run(for: .days(1))
      stripe.markUncollectible(invoice: stripe.latestInvoice(of: sub))
      stripe.run(for: .days(5))
      stripe.setCard(of: sub, .works)
      stripe.pay(invoice: stripe.latestInvoice(of: sub))
    },
    StripeStory("invoice-paid-by-other-means") { stripe in
      let sub = failRenewal(stripe)
      stripe.run(for: .days(1))
      stripe.markPaid(invoice: stripe.latestInvoice(of: sub))
    },
    StripeStory("invoice-paid-after-deletion") { stripe in
      let sub = failRenewal(stripe)
      stripe.run(for: .days(2))
      stripe.delete(sub)
      stripe.run(for: .days(2))
      stripe.setCard(of: sub, .works)
      stripe.pay(invoice: stripe.latestInvoice(of: sub))
    },
  ]
}
