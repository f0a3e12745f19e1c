import Base
import JSON
import Stores
import Stripe
import Subscriptions
import Testing

struct StoredObjectTests {
  private static let moment = Instant(milliseconds: 1_767_225_600_000)

  static let objects: [StripeObject] = [
    .subscription(
      StripeSubscription(
        customer: "cus_1", status: .other("dormant"),
        items: [
          StripeSubscription.Item(id: "si_1", price: "p", product: nil),
          StripeSubscription.Item(price: nil, product: "q", quantity: 3),
        ], cancelAtPeriodEnd: true, cancelAt: moment, canceledAt: moment, endedAt: moment,
        endedByFailedPayment: true, trialStart: moment, trialEnd: moment, collectionIsPaused: true,
        collectionResumes: moment,
        pause: .init(.requested, at: moment), began: moment, latestInvoice: "in_1",
        schedule: "sub_sched_1", account: Identifier(high: 1, low: 2))),
    .subscription(
      StripeSubscription(
        customer: nil, status: .paused, items: [], pause: .init(.other("novel"), at: nil))),
    .subscription(StripeSubscription(customer: nil, status: .pastDue, items: [])),
    .invoice(
      StripeInvoice(
        subscription: "sub_1", status: .uncollectible, isCycle: true, isAttempted: true,
        created: moment, paidAt: moment, amountPaid: 5, amountDue: 7, currency: "jpy",
        dueAt: moment,
        uncollectibleReason: "user_forgiven", payments: ["pi_1", "ch_1"],
        lines: [
          StripeInvoice.Line(
            item: "si_1", price: "p", product: "q", amountMinorUnits: 0, isCredit: true,
            from: moment, to: moment),
          StripeInvoice.Line(
            price: "p", product: "q", amountMinorUnits: -5, from: moment, to: moment),
        ])),
    .invoice(
      StripeInvoice(
        subscription: nil, status: .draft, isCycle: false, isAttempted: false, created: moment,
        lines: [])),
    .checkoutSession(StripeCheckoutSession(subscription: nil, isOpen: true, account: nil)),
    .checkoutSession(
      StripeCheckoutSession(
        subscription: "sub_1", isOpen: false, account: Identifier(high: 3, low: 4))),
    .customer(StripeCustomer()),
    .invoicePayment(StripeInvoicePayment(invoice: "in_1", payment: "pi_1", status: .paid)),
    .invoicePayment(StripeInvoicePayment(invoice: "in_1", payment: nil, status: .canceled)),
    .charge(
      StripeCharge(paymentIntent: "pi_1", invoice: "in_1", amountRefunded: 5, currency: "eur")),
    .charge(StripeCharge(paymentIntent: nil, invoice: nil, amountRefunded: 0)),
    .refund(
      StripeRefund(
        paymentIntent: "pi_1", charge: "ch_1", amountMinorUnits: 5, currency: "eur",
        created: moment, status: .requiresAction)),
    .dispute(
      StripeDispute(
        paymentIntent: nil, charge: "ch_1", amountMinorUnits: 5, created: moment,
        status: .warningUnderReview)),
    .dispute(
      StripeDispute(
        paymentIntent: "pi_1", charge: nil, amountMinorUnits: 5, created: moment,
        status: .other("novel"))),
  ]

  @Test(arguments: objects)
  func `what is stored reads back the same`(object: StripeObject) throws {
    let json = try JSON.parse(object.stored().encoded())
    #expect(try StripeObject(stored: json, kind: object.kind) == object)
  }

  @Test func `the most items that a delivery can hold read back the same`() throws {
    // A delivery names it `plan`, which is shorter than `price`.
    let item = StripeSubscription.Item(price: "pppp", product: nil)
    let long = AnyStoreObject(
      StripeObject.subscription(
        StripeSubscription(
          customer: nil, status: .active, items: Array(repeating: item, count: 65_000))))
    let text = StripeStore().stored(long)
    #expect(text.utf8.count > JSONLimits.standard.byteCountMax)
    #expect(try StripeStore().object(stored: text, kind: .subscription) == long)
  }
}
