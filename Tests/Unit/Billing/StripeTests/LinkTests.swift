import StoreFacts
import Stripe
import Subscriptions
import Testing
import Tiers

/// Finding a record from its subscription, and a subscription from a reversal.
struct LinkTests {
  private func links(_ delivery: Story.Delivery) -> [String] {
    let key = ObjectKey(
      provider: .stripe, environment: .live, kind: delivery.object.kind, id: delivery.id)
    return delivery.object.links(from: key).map { link in
      "\(link.origin.kind.rawValue) \(link.origin.id) \(link.kind.rawValue) of "
        + "\(link.target.kind.rawValue) \(link.target.id)"
    }
  }

  @Test func `an invoice belongs to its subscription and, before basil, to its payments`() {
    #expect(
      links(invoice(0, "in_1", .paid, from: 0, to: 30, payments: ["pi_1"])) == [
        "invoice in_1 bridge of subscription sub_1", "invoice in_1 bridge of payment pi_1",
        "payment pi_1 bridge of invoice in_1",
      ])
  }

  @Test func `a payment is tied to its invoice both ways`() {
    #expect(
      links(invoicePayment(0, "inpay_1", of: "in_1", by: "pi_1")) == [
        "invoice_payment inpay_1 part of invoice in_1", "invoice in_1 bridge of payment pi_1",
        "payment pi_1 bridge of invoice in_1",
      ])
  }

  @Test func `a charge and its intent are one payment`() {
    #expect(
      links(charge(0, refunded: 0, invoice: "in_1")) == [
        "charge ch_1 part of payment pi_1", "charge ch_1 part of payment ch_1",
        "payment pi_1 bridge of payment ch_1", "payment ch_1 bridge of payment pi_1",
        "invoice in_1 bridge of payment pi_1", "payment pi_1 bridge of invoice in_1",
      ])
  }

  @Test func `a refund and a dispute hang on their payment, by whichever id they name`() {
    #expect(links(refund(0, "re_1")) == ["refund re_1 part of payment pi_1"])
    #expect(
      links(dispute(0, .lost, of: nil, charge: "ch_1")) == ["dispute du_1 part of payment ch_1"])
    #expect(
      links(refund(0, "re_1", charge: "ch_1")) == [
        "refund re_1 part of payment pi_1", "refund re_1 part of payment ch_1",
        "payment pi_1 bridge of payment ch_1", "payment ch_1 bridge of payment pi_1",
      ])
  }

  @Test func `a subscription hangs on its customer, a session on its subscription`() {
    #expect(links(subscription(0, .active)) == ["subscription sub_1 part of customer cus_1"])
    let session = Story.Delivery(
      object: .checkoutSession(
        StripeCheckoutSession(subscription: "sub_1", isOpen: false, account: nil)),
      id: "cs_1", created: at(0))
    #expect(links(session) == ["checkout.session cs_1 part of subscription sub_1"])
  }
}
