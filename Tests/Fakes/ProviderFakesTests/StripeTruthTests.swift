import Base
import JSON
import ProviderFakes
import Testing

/// The sales according to the sales oracle.
@Suite struct `The truth of a fake Stripe` {
  /// Days since the purchase.
  private func days(_ sales: [StripeSale]) -> [[Int64]] {
    sales.map {
      [$0.from, $0.to].map { ($0 - stripeStart).milliseconds / Instant.Span.days(1).milliseconds }
    }
  }

  @Test func `has no period before it is paid`() {
    let stripe = makeStripe()
    let page = stripe.openCheckout(account: stripeAccount)
    let sub = stripe.completeDelayed(checkout: page)
    #expect(stripe.status(of: sub) == "active")
    #expect(stripe.sales(of: sub).isEmpty)
    stripe.run(for: .days(4))
    stripe.settleDelayed(checkout: page, succeeds: true)
    #expect(days(stripe.sales(of: sub)) == [[0, 31]])
  }

  @Test func `names account and product`() {
    let stripe = makeStripe()
    _ = stripe.buy(account: stripeAccount, .plusMonthly)
    #expect(
      stripe.paidPeriods == [
        PaidPeriod(
          account: stripeAccount, productID: StripePrice.plusMonthly.product, from: stripeStart,
          to: stripeStart + .days(31))
      ])
  }

  @Test func `joins renewals without a seam`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    stripe.run(for: .days(70))
    #expect(days(stripe.sales(of: sub)) == [[0, 31], [31, 61], [61, 92]])
  }

  @Test func `ends a period with the second of the refunds that give all of it back`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    let invoice = stripe.latestInvoice(of: sub)
    stripe.run(for: .days(3))
    stripe.refund(invoice: invoice, 120)
    #expect(days(stripe.sales(of: sub)) == [[0, 31]])
    stripe.run(for: .days(1))
    stripe.refund(invoice: invoice)
    #expect(days(stripe.sales(of: sub)) == [[0, 4]])
  }

  @Test func `has a whole period again whose refund failed`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    let refund = stripe.refund(invoice: stripe.latestInvoice(of: sub))
    #expect(stripe.sales(of: sub).isEmpty)
    stripe.settle(refund: refund, succeeds: false)
    #expect(days(stripe.sales(of: sub)) == [[0, 31]])
  }

  @Test func `ends a period by a pending refund only once that succeeds`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    stripe.run(for: .days(3))
    let refund = stripe.refund(invoice: stripe.latestInvoice(of: sub), isPending: true)
    #expect(days(stripe.sales(of: sub)) == [[0, 31]])
    stripe.settle(refund: refund, succeeds: true)
    #expect(days(stripe.sales(of: sub)) == [[0, 3]])
  }

  @Test(arguments: [true, false])
  func `ends a period by a lost dispute alone`(isWon: Bool) {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    stripe.run(for: .days(3))
    let dispute = stripe.dispute(invoice: stripe.latestInvoice(of: sub))
    #expect(days(stripe.sales(of: sub)) == [[0, 31]])
    stripe.close(dispute: dispute, isWon: isWon)
    #expect(days(stripe.sales(of: sub)) == [[0, isWon ? 31 : 3]])
  }

  @Test func `keeps the current period when an earlier one is refunded`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    stripe.run(for: .days(40))
    stripe.refund(invoice: stripe.invoices(of: sub)[0])
    #expect(days(stripe.sales(of: sub)) == [[0, 31], [31, 61]])
  }

  @Test func `exchanges the rest of a month for a year, and back when the year is refunded`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    stripe.run(for: .days(10))
    stripe.changePrice(of: sub, to: .premiumYearly)
    #expect(days(stripe.sales(of: sub)) == [[0, 10], [10, 375]])
    stripe.run(for: .days(2))
    stripe.refund(invoice: stripe.latestInvoice(of: sub))
    #expect(days(stripe.sales(of: sub)) == [[0, 10], [10, 12], [12, 31]])
  }

  @Test func `keeps the old plan while an upgrade is unpaid`() {
    let stripe = makeStripe { $0.afterRetries = .leavePastDue }
    let sub = stripe.buy(account: stripeAccount)
    stripe.run(for: .days(10))
    stripe.setCard(of: sub, .declines)
    stripe.changePrice(of: sub, to: .premiumYearly)
    #expect(stripe.status(of: sub) == "past_due")
    #expect(days(stripe.sales(of: sub)) == [[0, 31]])
  }

  @Test func `ends what was paid before an end, not what was paid after it`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    stripe.setCard(of: sub, .declines)
    stripe.run(for: .days(33))
    stripe.delete(sub)
    #expect(days(stripe.sales(of: sub)) == [[0, 31]])
    stripe.setCard(of: sub, .works)
    stripe.run(for: .days(2))
    stripe.pay(invoice: stripe.latestInvoice(of: sub))
    #expect(days(stripe.sales(of: sub)) == [[0, 31], [31, 61]])
  }

  @Test func `gives a trial and sells nothing for its zero invoice`() {
    let stripe = makeStripe()
    let page = stripe.openCheckout(account: stripeAccount, trialDays: 14)
    let sub = stripe.complete(checkout: page)
    #expect(stripe.sales(of: sub).map(\.basis) == [.trial])
    stripe.run(for: .days(15))
    #expect(days(stripe.sales(of: sub)) == [[0, 14], [14, 45]])
  }

  @Test func `sells a period that the balance of a downgrade paid`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount, .premiumYearly)
    stripe.run(for: .days(10))
    stripe.changePrice(of: sub, to: .premiumMonthly)
    stripe.run(for: .days(32))
    #expect(days(stripe.sales(of: sub)) == [[0, 10], [10, 41], [41, 71]])
    let invoice = stripe.object(ofLast: "invoice.paid")
    #expect(invoice["amount_due"].integer == 0)
    #expect(invoice["total"].integer == 299)
  }

  @Test func `sells a change of tier at once, whenever it is billed`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    stripe.run(for: .days(10))
    stripe.changePrice(of: sub, to: .plusMonthly, .nextInvoice)
    stripe.run(for: .days(25))
    #expect(days(stripe.sales(of: sub)) == [[0, 10], [10, 31], [31, 61]])
    #expect(stripe.object(ofLast: "invoice.paid")["lines"]["data"].array?.count == 3)
  }
}
