import Base
import JSON
import ProviderFakes
import Testing

/// The shape of each version, including everything that API changes moved or renamed.
@Suite struct `A fake Stripe renders` {
  @Test(arguments: StripeVersion.allCases)
  func `a subscription's period where the version has it`(version: StripeVersion) {
    let stripe = makeStripe(version)
    _ = stripe.buy(account: stripeAccount)
    let sub = stripe.object(ofLast: "customer.subscription.created")
    let end = (stripeStart + .days(31)).seconds
    #expect(sub["current_period_end"].integer == (version.isBasil ? nil : end))
    #expect(
      sub["items"]["data"][0]["current_period_end"].integer == (version.isBasil ? end : nil))
    #expect(sub["metadata"]["coffer_account"].string == stripeAccount.description)
  }

  @Test(arguments: StripeVersion.allCases)
  func `an invoice's subscription and payment where the version has them`(version: StripeVersion) {
    let stripe = makeStripe(version)
    let sub = stripe.buy(account: stripeAccount)
    let invoice = stripe.object(ofLast: "invoice.paid")
    let parent = invoice["parent"]["subscription_details"]
    #expect(invoice["subscription"].string == (version.isBasil ? nil : sub))
    #expect(parent["subscription"].string == (version.isBasil ? sub : nil))
    #expect(invoice["payment_intent"].exists == !version.isBasil)
    #expect(invoice["charge"].exists == !version.isBasil)
    #expect(invoice["paid"].bool == (version.isBasil ? nil : true))
  }

  @Test(arguments: StripeVersion.allCases)
  func `a line's price where the version has it`(version: StripeVersion) {
    let stripe = makeStripe(version)
    _ = stripe.buy(account: stripeAccount)
    let line = stripe.object(ofLast: "invoice.paid")["lines"]["data"][0]
    let price = StripePrice.premiumMonthly
    #expect(line["price"]["id"].string == (version.isBasil ? nil : price.id))
    #expect(
      line["pricing"]["price_details"]["price"].string == (version.isBasil ? price.id : nil))
    #expect(line["type"].string == (version.isBasil ? nil : "subscription"))
    #expect(line["period"]["start"].integer == stripeStart.seconds)
  }

  @Test(arguments: StripeVersion.allCases)
  func `a charge's invoice before basil only`(version: StripeVersion) {
    let stripe = makeStripe(version)
    let sub = stripe.buy(account: stripeAccount)
    let invoice = stripe.latestInvoice(of: sub)
    stripe.refund(invoice: invoice, 100)
    let charge = stripe.object(ofLast: "charge.refunded")
    #expect(charge["invoice"].string == (version.isBasil ? nil : invoice))
    #expect(charge["amount_refunded"].integer == 100)
    #expect(charge["refunds"]["data"].array?.count == (version == .y2020 ? 1 : nil))
  }

  @Test func `an invoice payment that names both its ends`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    let payment = stripe.object(ofLast: "invoice_payment.paid")
    #expect(payment["invoice"].string == stripe.latestInvoice(of: sub))
    stripe.refund(invoice: stripe.latestInvoice(of: sub))
    let refund = stripe.object(ofLast: "refund.created")
    #expect(refund["payment_intent"].string == payment["payment"]["payment_intent"].string)
  }

  @Test(arguments: StripeVersion.allCases)
  func `the event in the version of its endpoint`(version: StripeVersion) {
    let stripe = makeStripe(version)
    _ = stripe.buy(account: stripeAccount)
    #expect(stripe.event(stripe.deliveries[0])["api_version"].string == version.rawValue)
  }

  @Test(arguments: StripeVersion.allCases)
  func `only what changed as previous attributes of a renewal`(version: StripeVersion) throws {
    let stripe = makeStripe(version)
    let sub = stripe.buy(account: stripeAccount)
    stripe.run(until: stripe.periodEnd(of: sub))
    let update = try #require(
      stripe.deliveries.last { stripe.type(of: $0) == "customer.subscription.updated" })
    let names = stripe.event(update)["data"]["previous_attributes"].members?.map(\.name)
    #expect(
      Set(names ?? [])
        == (version.isBasil
          ? ["items", "latest_invoice"]
          : ["current_period_end", "current_period_start", "latest_invoice"]))
  }

  /// In the recorded stories a subscription has about 4 kB and an invoice about 5 kB.
  @Test(arguments: StripeVersion.allCases)
  func `bodies of the size of real ones`(version: StripeVersion) {
    let stripe = makeStripe(version) { $0.events = .all }
    let sub = stripe.buy(account: stripeAccount)
    let dispute = stripe.dispute(invoice: stripe.latestInvoice(of: sub))
    stripe.close(dispute: dispute, isWon: true)
    let small: Set = ["invoice_payment.paid"]
    for delivery in stripe.deliveries {
      let size = stripe.request(for: delivery, at: delivery.emitted).body.count
      let range = small.contains(stripe.type(of: delivery)) ? 500...2000 : 1200...12_000
      #expect(range.contains(size), "\(stripe.type(of: delivery)): \(size)")
    }
  }

  @Test func `a waiting payment as no payment`() {
    let stripe = makeStripe()
    let page = stripe.openCheckout(account: stripeAccount)
    _ = stripe.completeDelayed(checkout: page)
    #expect(
      stripe.object(ofLast: "checkout.session.completed")["payment_status"].string == "unpaid")
    #expect(stripe.object(ofLast: "customer.subscription.updated")["status"].string == "active")
    #expect(stripe.object(ofLast: "invoice.finalized")["status"].string == "open")
  }

  @Test func `a cancel by date without the flag`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    stripe.cancel(sub, on: stripeStart + .days(10))
    let object = stripe.object(ofLast: "customer.subscription.updated")
    #expect(object["cancel_at_period_end"].bool == false)
    #expect(object["cancel_at"].integer == (stripeStart + .days(10)).seconds)
  }

  @Test func `an announced invoice without an id`() {
    let stripe = makeStripe { $0.events = .all }
    let sub = stripe.buy(account: stripeAccount)
    stripe.run(until: stripe.periodEnd(of: sub))
    #expect(stripe.object(ofLast: "invoice.upcoming")["id"].isNull)
  }
}
