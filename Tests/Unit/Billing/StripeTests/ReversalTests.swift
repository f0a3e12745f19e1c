import Base
import StoreFacts
import Stripe
import Subscriptions
import Testing
import Tiers

/// Money that goes back, and the coverage that ends with it.
struct ReversalTests {
  /// Two paid months, each with its own payment.
  private static let twoMonths = [
    subscription(0, .active), invoice(0, "in_1", .paid, from: 0, to: 30),
    invoicePayment(0, "inpay_1", of: "in_1", by: "pi_1"), subscription(30, .active),
    invoice(30, "in_2", .paid, from: 30, to: 60),
    invoicePayment(30, "inpay_2", of: "in_2", by: "pi_2"),
  ]
  private static let untouched = [
    "day 0 premium subscribed", "day 60 premium leeway", "day 61 2 h free lapsed",
  ]
  private static let cutOnDay40 = ["day 0 premium subscribed", "day 40 free refunded"]

  private func after(_ deliveries: Story.Delivery...) -> Story {
    Story(Self.twoMonths + deliveries)
  }

  @Test func `a full refund of the current period ends it then, without grace or leeway`() {
    #expect(after(refund(40, "re_1", of: "pi_2")).schedule == Self.cutOnDay40)
  }

  @Test func `a full refund of an earlier period leaves current access untouched`() {
    let story = after(refund(40, "re_1", of: "pi_1"))
    #expect(story.schedule == Self.untouched)
    #expect(story.coverage.alarms.isEmpty)
  }

  @Test func `a partial refund is noted and takes nothing`() {
    let story = after(refund(40, "re_1", amount: 100, of: "pi_2"))
    #expect(story.schedule == Self.untouched)
    #expect(story.coverage.alarms == [.reversal(.partialRefund, object: "re_1")])
  }

  @Test func `40 % and 60 % by two ids are everything, from the second on`() {
    let story = after(
      refund(35, "re_1", amount: 120, of: "pi_2"), refund(40, "re_2", amount: 179, of: "pi_2"))
    #expect(story.schedule == Self.cutOnDay40)
    #expect(story.coverage.alarms.isEmpty)
  }

  @Test(arguments: [StripeRefund.Status.failed, .canceled])
  func `a refund that itself fails brings access back`(status: StripeRefund.Status) {
    let story = after(
      refund(40, "re_1", of: "pi_2"), refund(45, "re_1", status, of: "pi_2", made: 40))
    #expect(story.schedule == Self.untouched)
  }

  @Test(arguments: [StripeRefund.Status.pending, .requiresAction])
  func `a refund on its way takes nothing yet`(status: StripeRefund.Status) {
    #expect(after(refund(40, "re_1", status, of: "pi_2")).schedule == Self.untouched)
  }

  @Test func `a charge tells of a refund that was not seen`() {
    #expect(
      after(charge(40, refunded: 299, id: "ch_2", of: "pi_2")).schedule == Self.cutOnDay40)
  }

  @Test func `two reads within a moment of what did not change agree`() {
    var subscription = Subscription(subscriptionKey, StripeRecord(id: subscriptionKey.id))
    let objects: [(StripeObject, String)] = [
      (.charge(StripeCharge(paymentIntent: "pi_2", invoice: nil, amountRefunded: 5)), "ch_2"),
      (.customer(StripeCustomer()), "cus_1"),
    ]
    for (delivery, seconds) in [0, 3].enumerated() {
      let asOf = AsOf(from: at(1) + .seconds(Int64(seconds)), to: at(1) + .seconds(10))
      for (object, id) in objects {
        subscription.insert(
          Fact(
            key: ObjectKey(provider: .stripe, environment: .live, kind: object.kind, id: id),
            object: object, asOf: asOf),
          delivery: Int64(delivery))
      }
    }
    #expect(!subscription.isDirty)
  }

  @Test func `a charge's sum counts only beyond the refunds that are known, failed ones too`() {
    let failed = after(
      charge(40, refunded: 299, id: "ch_2", of: "pi_2"),
      refund(45, "re_1", .failed, of: "pi_2", charge: "ch_2", made: 40))
    #expect(failed.schedule == Self.untouched)
    let known = after(
      charge(41, refunded: 299, id: "ch_2", of: "pi_2"),
      refund(40, "re_1", of: "pi_2", charge: "ch_2"))
    #expect(known.schedule == Self.cutOnDay40)
    let rest = after(
      charge(40, refunded: 299, id: "ch_2", of: "pi_2"),
      refund(35, "re_1", amount: 120, of: "pi_2", charge: "ch_2"))
    #expect(rest.schedule == Self.cutOnDay40)
  }

  @Test func `before basil the invoice itself names its payment`() {
    let story = Story([
      subscription(0, .active),
      invoice(0, "in_1", .paid, from: 0, to: 30, payments: ["pi_1", "ch_1"]),
      refund(10, "re_1", of: nil, charge: "ch_1"),
    ])
    #expect(story.schedule == ["day 0 premium subscribed", "day 10 free refunded"])
  }

  @Test func `a refund that names only the charge finds its invoice through the charge`() {
    let named = after(
      charge(30, refunded: 0, id: "ch_2", of: "pi_2"), refund(40, "re_1", of: nil, charge: "ch_2"))
    #expect(named.schedule == Self.cutOnDay40)
    let old = Story([
      subscription(0, .active), invoice(0, "in_1", .paid, from: 0, to: 30),
      charge(0, refunded: 0, of: nil, invoice: "in_1"), refund(10, "re_1", of: nil, charge: "ch_1"),
    ])
    #expect(old.schedule == ["day 0 premium subscribed", "day 10 free refunded"])
  }

  @Test func `refunds of both payments of one invoice count together`() {
    let story = after(
      invoicePayment(30, "inpay_3", of: "in_2", by: "pi_3"),
      refund(35, "re_1", amount: 200, of: "pi_2"), refund(40, "re_2", amount: 99, of: "pi_3"))
    #expect(story.schedule == Self.cutOnDay40)
  }

  @Test func `a payment of two invoices takes both back only when all of it went back`() {
    let shared = [invoicePayment(30, "inpay_3", of: "in_2", by: "pi_1", .paid)]
    let base = Self.twoMonths.filter { $0.id != "inpay_2" } + shared
    #expect(Story(base + [refund(40, "re_1", amount: 299)]).schedule == Self.untouched)
    let both = Story(base + [refund(40, "re_1", amount: 598)])
    #expect(both.schedule == Self.cutOnDay40)
  }

  @Test func `a payment that was called off binds nothing`() {
    let story = after(
      invoicePayment(30, "inpay_3", of: "in_2", by: "pi_3", .canceled),
      refund(40, "re_1", of: "pi_3"))
    #expect(story.schedule == Self.untouched)
  }

  @Test func `a refund without a known invoice is noted only`() {
    let story = after(refund(40, "re_1", of: "pi_9"))
    #expect(story.schedule == Self.untouched)
    #expect(story.coverage.alarms == [.reversal(.partialRefund, object: "re_1")])
  }

  @Test func `a refunded upgrade gives the old plan back to its paid end`() {
    let story = Story([
      invoice(0, "in_1", .paid, lines: [("price_small", 99, 0, 30)]),
      invoice(10, "in_2", .paid, lines: [("price_premium", 200, 10, 30)], isCycle: false),
      invoicePayment(10, "inpay_2", of: "in_2", by: "pi_2"),
      subscription(10, .active, price: "price_premium", cancelAtPeriodEnd: true),
      refund(15, "re_1", amount: 200, of: "pi_2"),
    ])
    #expect(
      story.schedule == [
        "day 0 small subscribed", "day 10 premium subscribed", "day 15 small subscribed",
        "day 30 free lapsed",
      ])
  }

  @Test func `a refund after a failed renewal leaves no grace`() {
    let story = Story(
      Self.twoMonths + [
        invoice(60, "in_3", .open, from: 60, to: 90), subscription(60.5, .pastDue),
        refund(61, "re_1", of: "pi_2"),
      ])
    #expect(story.schedule == ["day 0 premium subscribed", "day 60 free payment_failed"])
  }

  @Test func `a dispute is noted while open, takes the period when lost, nothing when won`() {
    let open = after(dispute(40, .needsResponse, of: "pi_2"))
    #expect(
      open.schedule == [
        "day 0 premium subscribed", "day 40 premium contested", "day 60 premium leeway",
        "day 61 2 h free lapsed",
      ])
    #expect(open.label(day: 41) == .active)
    #expect(open.coverage.alarms == [.reversal(.disputeOpened, object: "du_1")])
    let lost = after(
      dispute(40, .underReview, of: "pi_2"), dispute(50, .lost, of: "pi_2", made: 40))
    #expect(lost.schedule == Self.cutOnDay40)
    let won = after(
      dispute(40, .needsResponse, of: "pi_2"), dispute(50, .won, of: "pi_2", made: 40))
    #expect(won.schedule == Self.untouched)
    #expect(won.coverage.alarms.isEmpty)
  }

  @Test func `a lost dispute of an earlier period leaves current access untouched`() {
    #expect(after(dispute(40, .lost, of: "pi_1")).schedule == Self.untouched)
  }

  @Test(arguments: [StripeDispute.Status.warningNeedsResponse, .warningUnderReview])
  func `an enquiry is noted at most, whatever the policy does with disputes`(
    status: StripeDispute.Status
  ) {
    var story = after(dispute(40, status, of: "pi_2"))
    story.policy = .strict
    #expect(story.schedule == Self.untouched)
    #expect(story.coverage.alarms == [.reversal(.disputeOpened, object: "du_1")])
  }

  @Test(arguments: [StripeDispute.Status.warningClosed, .prevented])
  func `an enquiry that came to nothing says nothing`(status: StripeDispute.Status) {
    let story = after(dispute(40, status, of: "pi_2"))
    #expect(story.schedule == Self.untouched)
    #expect(story.coverage.alarms.isEmpty)
  }

  @Test func `a policy may suspend while a dispute is open, and a won one brings access back`() {
    var story = after(dispute(40, .needsResponse, of: "pi_2"))
    story.policy = .strict
    #expect(story.schedule == ["day 0 premium subscribed", "day 40 free disputed"])
    story.deliveries.append(dispute(50, .won, of: "pi_2", made: 40))
    #expect(story.schedule == Self.untouched)
  }

  @Test func `a policy may let a refund pass with a note`() {
    var story = after(refund(40, "re_1", of: "pi_2"))
    story.policy = .lenient
    #expect(story.schedule == Self.untouched)
    #expect(story.coverage.alarms == [.reversal(.fullRefund, object: "re_1")])
  }

  @Test func `a refund in the very second of the purchase leaves nothing and says why`() {
    let story = Story([
      subscription(0, .active), invoice(0, "in_1", .paid, from: 0, to: 30),
      invoicePayment(0, "inpay_1", of: "in_1", by: "pi_1"), refund(0, "re_1"),
    ])
    #expect(story.schedule == ["day 0 free refunded"])
  }

  @Test func `a refund of nothing paid takes nothing`() {
    let story = Story([
      subscription(0, .trialing, trial: 0...14),
      invoice(
        0, "in_1", .paid, lines: [("price_premium", 0, 0, 14)], isCycle: false, payments: ["pi_1"]),
      refund(3, "re_1", amount: 0),
    ])
    #expect(story.label(day: 5) == .trialing)
  }
}

extension Policy {
  /// Suspends access while a dispute is open.
  fileprivate static let strict = with(
    ReversalTable([
      .disputeOpened: ReversalTable.Row(past: .flag, current: .suspend, unbound: .flag)
    ]))
  /// Cuts nothing.
  fileprivate static let lenient = with(
    ReversalTable([.fullRefund: ReversalTable.Row(past: .flag, current: .flag, unbound: .flag)]))

  private static func with(_ table: ReversalTable) -> Policy {
    var policy = Policy.standard
    policy.reversals = table
    return policy
  }
}
