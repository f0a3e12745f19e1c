import Base
import JSON
import ProviderFakes
import Testing

/// The order of events at Stripe, and their contents.
@Suite struct `A fake Stripe tells` {
  @Test func `a purchase since basil with a subscription that begins active`() {
    let stripe = makeStripe()
    _ = stripe.buy(account: stripeAccount)
    #expect(
      stripe.types() == [
        "customer.subscription.created", "invoice.created", "invoice.finalized",
        "invoice_payment.paid", "invoice.paid", "checkout.session.completed",
      ])
  }

  @Test func `a purchase before basil with a subscription that begins incomplete`() {
    let stripe = makeStripe(.acacia)
    _ = stripe.buy(account: stripeAccount)
    #expect(
      stripe.types() == [
        "customer.subscription.created", "invoice.created", "invoice.finalized", "invoice.paid",
        "customer.subscription.updated", "checkout.session.completed",
      ])
    #expect(stripe.event(stripe.deliveries[0])["data"]["object"]["status"].string == "incomplete")
  }

  @Test func `every event of a purchase where the endpoint wants all`() {
    let stripe = makeStripe { $0.events = .all }
    _ = stripe.buy(account: stripeAccount)
    #expect(
      stripe.types() == [
        "customer.created", "customer.subscription.created", "invoice.created",
        "invoice.finalized", "charge.succeeded", "payment_intent.succeeded",
        "invoice_payment.paid", "invoice.paid", "invoice.payment_succeeded",
        "checkout.session.completed",
      ])
  }

  @Test func `a renewal as a new period, a draft, and an hour later the payment`() {
    let stripe = makeStripe { $0.events = .all }
    let sub = stripe.buy(account: stripeAccount)
    let count = stripe.deliveries.count
    let end = stripe.periodEnd(of: sub)
    stripe.run(until: end + .days(1))
    #expect(
      stripe.types(after: count) == [
        "invoice.upcoming", "customer.subscription.updated", "invoice.created",
        "invoice.finalized", "charge.succeeded", "payment_intent.succeeded",
        "invoice_payment.paid", "invoice.paid", "invoice.payment_succeeded",
      ])
    #expect(
      stripe.deliveries.dropFirst(count).map { ($0.emitted - end).milliseconds / 1000 } == [
        -259_200, 0, 0, 3600, 3600, 3600, 3600, 3600, 3600,
      ])
  }

  @Test func `a failed renewal, its retries and the end`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    stripe.setCard(of: sub, .declines)
    stripe.run(until: stripe.periodEnd(of: sub))
    let count = stripe.deliveries.count
    stripe.run(for: .days(20))
    #expect(
      stripe.types(after: count) == [
        "invoice.finalized", "invoice.payment_failed", "customer.subscription.updated",
        "invoice.payment_failed", "invoice.payment_failed", "invoice.payment_failed",
        "customer.subscription.deleted",
      ])
    let ended = stripe.object(ofLast: "customer.subscription.deleted")
    #expect(ended["cancellation_details"]["reason"].string == "payment_failed")
  }

  @Test func `a payment that the customer must confirm`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    stripe.setCard(of: sub, .needsConfirmation)
    stripe.run(until: stripe.periodEnd(of: sub))
    let count = stripe.deliveries.count
    stripe.run(for: .hours(2))
    #expect(
      stripe.types(after: count) == [
        "invoice.finalized", "invoice.payment_action_required", "invoice.payment_failed",
        "customer.subscription.updated",
      ])
  }

  @Test func `a recovery with the invoice paid and the subscription active again`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    stripe.setCard(of: sub, .declines)
    stripe.run(until: stripe.periodEnd(of: sub))
    stripe.run(for: .days(1))
    stripe.setCard(of: sub, .works)
    let count = stripe.deliveries.count
    stripe.run(for: .days(3))
    #expect(
      stripe.types(after: count) == [
        "invoice_payment.paid", "invoice.paid", "customer.subscription.updated",
      ])
  }

  @Test func `a cancel at the period's end first as a flag and then as an end`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    let count = stripe.deliveries.count
    stripe.run(for: .days(9))
    stripe.cancel(sub)
    stripe.run(for: .days(40))
    #expect(
      stripe.types(after: count) == [
        "customer.subscription.updated", "customer.subscription.deleted",
      ])
  }

  @Test(arguments: [true, false])
  func `a pending upgrade as applied or expired`(isPaid: Bool) {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    stripe.setCard(of: sub, .declines)
    let count = stripe.deliveries.count
    stripe.changePrice(of: sub, to: .plusMonthly, .pendingIfIncomplete)
    if isPaid {
      stripe.setCard(of: sub, .works)
      stripe.pay(invoice: stripe.latestInvoice(of: sub))
    }
    stripe.run(for: .days(1))
    let begin = [
      "invoice.created", "invoice.finalized", "customer.subscription.updated",
      "invoice.payment_failed",
    ]
    let applied = [
      "invoice_payment.paid", "invoice.paid", "customer.subscription.updated",
      "customer.subscription.pending_update_applied",
    ]
    let expired = [
      "customer.subscription.updated", "customer.subscription.pending_update_expired",
      "invoice.voided",
    ]
    #expect(stripe.types(after: count) == begin + (isPaid ? applied : expired))
  }

  @Test func `a trial that ends without a card as paused`() {
    let stripe = makeStripe()
    let page = stripe.openCheckout(account: stripeAccount, trialDays: 14)
    _ = stripe.complete(checkout: page, .missing, missingCard: .pause)
    let count = stripe.deliveries.count
    stripe.run(for: .days(15))
    #expect(
      stripe.types(after: count) == [
        "customer.subscription.trial_will_end", "customer.subscription.updated",
        "customer.subscription.paused",
      ])
  }

  @Test(arguments: [true, false])
  func `what became of a bank debit`(succeeds: Bool) {
    let stripe = makeStripe()
    let page = stripe.openCheckout(account: stripeAccount)
    _ = stripe.completeDelayed(checkout: page)
    let count = stripe.deliveries.count
    stripe.run(for: .days(4))
    stripe.settleDelayed(checkout: page, succeeds: succeeds)
    #expect(
      stripe.types(after: count)
        == (succeeds
          ? ["invoice_payment.paid", "invoice.paid", "checkout.session.async_payment_succeeded"]
          : [
            "invoice.payment_failed", "customer.subscription.updated",
            "checkout.session.async_payment_failed",
          ]))
  }

  @Test func `an abandoned page as expired after a day`() {
    let stripe = makeStripe()
    _ = stripe.openCheckout(account: stripeAccount)
    stripe.run(for: .days(2))
    #expect(stripe.types() == ["checkout.session.expired"])
  }

  @Test(arguments: StripeVersion.allCases)
  func `a refund that fails after it had succeeded`(version: StripeVersion) {
    let stripe = makeStripe(version)
    let sub = stripe.buy(account: stripeAccount)
    let count = stripe.deliveries.count
    let refund = stripe.refund(invoice: stripe.latestInvoice(of: sub))
    stripe.run(for: .days(5))
    stripe.settle(refund: refund, succeeds: false)
    #expect(
      stripe.types(after: count)
        == (version == .y2020
          ? ["charge.refunded", "charge.refund.updated"]
          : [
            "refund.created", "charge.refunded", "refund.updated", "refund.failed",
            "charge.refund.updated",
          ]))
  }

  @Test(arguments: [true, false])
  func `a dispute with its money and its end`(isWon: Bool) {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    let count = stripe.deliveries.count
    let dispute = stripe.dispute(invoice: stripe.latestInvoice(of: sub))
    stripe.run(for: .days(20))
    stripe.close(dispute: dispute, isWon: isWon)
    let types = [
      "charge.dispute.created", "charge.dispute.funds_withdrawn", "charge.dispute.closed",
    ]
    #expect(
      stripe.types(after: count)
        == types + (isWon ? ["charge.dispute.funds_reinstated"] : []))
  }

  @Test func `a deleted customer after the ends of all subscriptions`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    let count = stripe.deliveries.count
    stripe.delete(customer: stripe.customer(of: sub))
    #expect(stripe.types(after: count) == ["customer.subscription.deleted", "customer.deleted"])
  }
}
