import Base
import JSON
import ProviderFakes
import Testing

@Suite struct `The stories of a fake Stripe` {
  /// The sales that are valid at the end, for each subscription, in days since the start; reviewed by hand.
  private static let truths: [String: [[String]]] = [
    "first-purchase": [["premium 0-31"]], "first-purchase-by-api": [["premium 0-31"]],
    "renewal": [["premium 0-31", "premium 31-61"]],
    "year-renewal": [["premium 0-365", "premium 365-731"]],
    "first-payment-expires": [[]], "first-payment-saved": [["premium 0-31"]],
    "bank-debit-succeeds": [["premium 0-31"]], "bank-debit-fails": [[]], "page-abandoned": [],
    "page-abandoned-then-bought": [["premium 0.8-31.8"]],
    "failed-payment-recovery": [["premium 0-31", "premium 31-61"]],
    "failed-payment-paid-by-page": [["premium 0-31", "premium 31-61"]],
    "renewal-to-be-confirmed": [["premium 0-31", "premium 31-61"]],
    "failed-payment-lapse": [["premium 0-31"]],
    "failed-payment-unpaid-then-paid": [["premium 0-31", "premium 31-61"]],
    "failed-payment-stays-past-due": [["premium 0-31"]], "one-second": [[]],
    "trial-then-paid": [["premium 0-14", "premium 14-45"]],
    "trial-then-paused-then-resumed": [["premium 0-14", "premium 34-64"]],
    "trial-then-paused-resumption-unpaid": [["premium 0-14"]],
    "trial-then-canceled": [["premium 0-14"]], "trial-never-paid": [["premium 0-14"]],
    "trial-canceled-within": [["premium 0-14"]], "cancel-at-period-end": [["premium 0-31"]],
    "cancel-on-the-date-of-the-period-end": [["premium 0-31"]],
    "cancel-on-a-date-within": [["premium 0-12"]],
    "cancel-and-uncancel": [["premium 0-31", "premium 31-61"]],
    "deleted-at-once": [["premium 0-10"]], "customer-deleted": [["premium 0-10"]],
    "resubscribed-at-the-store": [["premium 0-31"], ["premium 40-70"]],
    "left-for-another-store": [["premium 0-31"]],
    "upgrade-to-year": [["premium 0-10", "premium 10-375"]],
    "upgrade-of-tier-paid-at-once": [["premium 0-10", "plus 10-31", "plus 31-61"]],
    "upgrade-of-tier-on-the-next-invoice": [["premium 0-10", "plus 10-31", "plus 31-61"]],
    "upgrade-on-the-next-invoice-that-fails": [["premium 0-10", "plus 10-31"]],
    "upgrade-unpaid": [["premium 0-31"]],
    "upgrade-unpaid-then-paid": [["premium 0-10", "premium 10-375"]],
    "upgrade-pending-then-applied": [["premium 0-10", "premium 10-375"]],
    "upgrade-pending-then-expired": [["premium 0-31"]],
    "downgrade-to-month-at-once": [["premium 0-10", "premium 10-41", "premium 41-71"]],
    "downgrade-at-period-end": [["plus 0-31", "premium 31-61"]],
    "collection-paused-keep_as_draft": [["premium 0-31", "premium 61-92"]],
    "collection-paused-mark_uncollectible": [["premium 0-31", "premium 61-92"]],
    "collection-paused-void": [["premium 0-31", "premium 61-92"]],
    "bought-without-an-account-then-claimed": [["premium 0-31"]],
    "account-deleted-while-subscribed": [["premium 0-31", "premium 31-61"]],
    "two-subscriptions": [["premium 0-31"], ["plus 5-36"]],
    "two-accounts": [["premium 0-31"], ["premium 0-3"]],
    "other-products": [["stickers 0-31"], ["support 0-31"]],
    "refund-of-the-current-period": [["premium 0-3"]], "refund-and-end": [["premium 0-3"]],
    "refund-in-part": [["premium 0-31"]], "refund-in-two-parts": [["premium 0-4"]],
    "refund-of-an-earlier-period": [["premium 0-31", "premium 31-61"]],
    "refund-of-the-second-period": [["premium 0-31", "premium 31-36"]],
    "refund-then-failed": [["premium 0-31"]],
    "refund-failed-then-again": [["premium 0-10"]],
    "refund-pending-then-succeeded": [["premium 0-3"]],
    "refund-of-an-upgrade": [["premium 0-10", "premium 10-11", "premium 11-31"]],
    "dispute-won": [["premium 0-31"]],
    "dispute-lost": [["premium 0-3"]],
    "dispute-of-an-earlier-period-lost": [["premium 0-31", "premium 31-61"]],
    "enquiry-closed": [["premium 0-31"]], "invoice-voided-while-past-due": [["premium 0-31"]],
    "invoice-uncollectible-then-paid": [["premium 0-31", "premium 31-61"]],
    "invoice-paid-by-other-means": [["premium 0-31", "premium 31-61"]],
    "invoice-paid-after-deletion": [["premium 0-31", "premium 31-61"]],
    "addition-bought-together": [["premium 0-31", "extra 0-31", "premium 31-61", "extra 31-61"]],
    "addition-bought-within": [["premium 0-31", "extra 10-31", "premium 31-61", "extra 31-61"]],
    "addition-bought-within-on-the-next-invoice": [
      ["premium 0-31", "extra 10-31", "premium 31-61", "extra 31-61"]
    ],
    "addition-unpaid": [["premium 0-31"]],
    "addition-then-failed-renewal": [["premium 0-31", "extra 10-31"]],
    "addition-then-failed-renewal-recovery": [
      ["premium 0-31", "extra 0-31", "premium 31-61", "extra 31-61"]
    ],
    "addition-removed": [["premium 0-31", "extra 10-18", "premium 31-61"]],
    "addition-removed-on-the-next-invoice": [["premium 0-31", "extra 0-18"]],
    "addition-stays-while-the-plan-changes": [
      ["premium 0-10", "extra 0-31", "plus 10-31", "plus 31-61", "extra 31-61"]
    ],
    "addition-stays-while-the-plan-is-scheduled-down": [
      ["plus 0-31", "extra 0-31", "premium 31-61", "extra 31-61"]
    ],
    "addition-refunded-alone": [["premium 0-31", "extra 10-12"]],
    "addition-canceled-with-its-plan": [["premium 0-31", "extra 0-31"]],
  ]

  private static let names = [
    StripePrice.premiumMonthly.product: "premium", StripePrice.plusMonthly.product: "plus",
    StripePrice.stickersMonthly.product: "stickers", StripePrice.supportMonthly.product: "support",
    StripePrice.extraMonthly.product: "extra",
  ]

  private func days(_ moment: Instant) -> String {
    let tenths = (moment - StripeStory.start).milliseconds * 10 / 86_400_000
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }

  @Test func `have names of their own and a reviewed truth each`() {
    let names = StripeStory.all.map(\.name)
    #expect(names.count == Set(names).count)
    #expect(Set(names) == Set(Self.truths.keys))
  }

  @Test(arguments: StripeStory.all, StripeVersion.allCases)
  func `end in the truth that was reviewed`(story: StripeStory, version: StripeVersion) {
    let stripe = story.makeStripe(version)
    _ = story.run(stripe)
    let told = stripe.subscriptions.map { sub in
      stripe.sales(of: sub).map {
        "\(Self.names[$0.product] ?? $0.product) \(days($0.from))-\(days($0.to))"
      }
    }
    #expect(told == Self.truths[story.name])
  }

  @Test(arguments: StripeStory.all)
  func `deliver in the order of their times, each once`(story: StripeStory) {
    let stripe = story.makeStripe(.dahlia, events: .all)
    _ = story.run(stripe)
    let deliveries = stripe.deliveries
    #expect(!deliveries.isEmpty)
    #expect(deliveries.map(\.emitted) == deliveries.map(\.emitted).sorted())
    #expect(Set(deliveries.map(\.id)).count == deliveries.count)
  }

  /// The sales by invoice agree with the API's paid invoices, and the sales of one item never overlap.
  @Test(arguments: StripeStory.all)
  func `agree with what the API says is paid`(story: StripeStory) {
    let stripe = story.makeStripe(.dahlia)
    _ = story.run(stripe)
    for sub in stripe.subscriptions {
      let sales = stripe.sales(of: sub)
      for mine in Dictionary(grouping: sales, by: \.item).values {
        for (earlier, later) in zip(mine, mine.dropFirst()) { #expect(earlier.to <= later.from) }
      }
      for case .invoice(let id) in sales.map(\.basis) {
        let invoice = stripe.json("/v1/invoices/\(id)")
        #expect(invoice["status"].string == "paid")
        #expect(invoice["parent"]["subscription_details"]["subscription"].string == sub)
      }
    }
  }

  @Test func `remember the truth of every moment`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    stripe.run(for: .days(3))
    stripe.refund(invoice: stripe.latestInvoice(of: sub))
    #expect(stripe.sales(asOf: stripeStart - .seconds(1)).isEmpty)
    func end(_ moment: Instant) -> Instant? { stripe.sales(asOf: moment).last?.to }
    #expect(end(stripeStart + .days(2)) == stripeStart + .days(31))
    #expect(end(stripeStart + .days(3)) == stripeStart + .days(3))
  }
}
