import Base
import JSON
import ProviderFakes
import Testing

/// The transitions between a subscription's states at Stripe.
@Suite struct `A fake subscription goes` {
  private func begin(
    _ card: StripeCard, trialDays: Int64 = 0, _ missingCard: StripeMissingCard = .createInvoice,
    _ change: (inout StripeSettings) -> Void = { _ in }
  ) -> (FakeStripe, String) {
    let stripe = makeStripe(.dahlia, change)
    let customer = stripe.addCustomer(card)
    let sub = stripe.subscribe(
      customer: customer, account: stripeAccount, trialDays: trialDays, missingCard: missingCard)
    return (stripe, sub)
  }

  @Test func `from incomplete to active when paid within 23 hours`() {
    let (stripe, sub) = begin(.declines)
    #expect(stripe.status(of: sub) == "incomplete")
    stripe.run(for: .hours(22))
    stripe.setCard(of: sub, .works)
    stripe.pay(invoice: stripe.latestInvoice(of: sub))
    stripe.run(for: .days(3))
    #expect(stripe.status(of: sub) == "active")
  }

  @Test func `from incomplete to expired after 23 hours, its invoice void`() {
    let (stripe, sub) = begin(.declines)
    stripe.run(for: .hours(24))
    #expect(stripe.status(of: sub) == "incomplete_expired")
    #expect(stripe.status(ofInvoice: stripe.latestInvoice(of: sub)) == "void")
  }

  @Test func `from trialing to active when the trial is paid`() {
    let (stripe, sub) = begin(.works, trialDays: 14)
    #expect(stripe.status(of: sub) == "trialing")
    stripe.run(for: .days(15))
    #expect(stripe.status(of: sub) == "active")
    #expect(stripe.status(ofInvoice: stripe.latestInvoice(of: sub)) == "paid")
  }

  @Test(arguments: [
    (StripeMissingCard.pause, "paused"), (.cancel, "canceled"), (.createInvoice, "past_due"),
  ])
  func `from trialing without a card as its settings say`(_ end: (StripeMissingCard, String)) {
    let (stripe, sub) = begin(.missing, trialDays: 14, end.0)
    stripe.run(for: .days(15))
    #expect(stripe.status(of: sub) == end.1)
  }

  @Test(arguments: [
    (StripeSettings.AfterRetries.cancel, "canceled"), (.markUnpaid, "unpaid"),
    (.leavePastDue, "past_due"),
  ])
  func `from past due as the account's settings say`(
    _ end: (StripeSettings.AfterRetries, String)
  ) {
    let (stripe, sub) = begin(.works) { $0.afterRetries = end.0 }
    stripe.setCard(of: sub, .declines)
    stripe.run(for: .days(60))
    #expect(stripe.status(of: sub) == end.1)
  }

  @Test func `from unpaid, where invoices stay drafts, to active when the latest is paid`() {
    let (stripe, sub) = begin(.works) { $0.afterRetries = .markUnpaid }
    stripe.setCard(of: sub, .declines)
    stripe.run(for: .days(75))
    #expect(stripe.status(ofInvoice: stripe.latestInvoice(of: sub)) == "draft")
    stripe.setCard(of: sub, .works)
    stripe.pay(invoice: stripe.latestInvoice(of: sub))
    #expect(stripe.status(of: sub) == "active")
  }

  @Test(arguments: [true, false])
  func `from past due to active when the latest invoice is given up`(isVoided: Bool) {
    let (stripe, sub) = begin(.works)
    stripe.setCard(of: sub, .declines)
    stripe.run(for: .days(32))
    #expect(stripe.status(of: sub) == "past_due")
    let invoice = stripe.latestInvoice(of: sub)
    if isVoided {
      stripe.void(invoice: invoice)
    } else {
      stripe.markUncollectible(invoice: invoice)
    }
    #expect(stripe.status(of: sub) == "active")
  }

  @Test func `from paused to active when the resumption is paid`() {
    let (stripe, sub) = begin(.missing, trialDays: 14, .pause)
    stripe.run(for: .days(20))
    stripe.setCard(of: sub, .works)
    stripe.resume(sub)
    #expect(stripe.status(of: sub) == "active")
    #expect(stripe.periodEnd(of: sub) > stripe.clock.now + .days(27))
  }

  @Test func `nowhere from paused when the resumption is not paid`() {
    let (stripe, sub) = begin(.missing, trialDays: 14, .pause)
    stripe.run(for: .days(20))
    stripe.resume(sub)
    #expect(stripe.status(ofInvoice: stripe.latestInvoice(of: sub)) == "open")
    stripe.run(for: .hours(24))
    #expect(stripe.status(of: sub) == "paused")
    #expect(stripe.status(ofInvoice: stripe.latestInvoice(of: sub)) == "void")
  }

  @Test func `to canceled on the date of a cancel, also within a period`() {
    let (stripe, sub) = begin(.works)
    stripe.cancel(sub, on: stripeStart + .days(10))
    stripe.run(for: .days(11))
    #expect(stripe.status(of: sub) == "canceled")
    #expect(
      stripe.object(ofLast: "customer.subscription.deleted")["ended_at"].integer
        == (stripeStart + .days(10)).seconds)
  }

  @Test func `on when a cancel is taken back`() {
    let (stripe, sub) = begin(.works)
    stripe.cancel(sub, on: stripeStart + .days(10))
    stripe.uncancel(sub)
    stripe.run(for: .days(40))
    #expect(stripe.status(of: sub) == "active")
  }

  @Test(arguments: [
    (StripeCollectionPause.keepAsDraft, "draft"), (.markUncollectible, "uncollectible"),
    (.void, "void"),
  ])
  func `on as active while its collection is paused`(_ pause: (StripeCollectionPause, String)) {
    let (stripe, sub) = begin(.works)
    stripe.pauseCollection(of: sub, pause.0, resumesAt: stripeStart + .days(40))
    stripe.run(for: .days(35))
    #expect(stripe.status(of: sub) == "active")
    #expect(stripe.status(ofInvoice: stripe.latestInvoice(of: sub)) == pause.1)
    stripe.run(for: .days(40))
    #expect(stripe.status(ofInvoice: stripe.latestInvoice(of: sub)) == "paid")
  }

  @Test func `by the month from its anchor, however short a month is`() {
    let stripe = makeStripe(at: Instant(seconds: 1_769_853_600))  // 31 January 2026
    let sub = stripe.buy(account: stripeAccount)
    #expect(stripe.periodEnd(of: sub).description == "2026-02-28T10:00:00Z")
    stripe.run(for: .days(30))
    #expect(stripe.periodEnd(of: sub).description == "2026-03-31T10:00:00Z")
  }
}
