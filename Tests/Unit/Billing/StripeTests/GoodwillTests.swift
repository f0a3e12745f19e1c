import StoreFacts
import Stripe
import Subscriptions
import Testing
import Tiers

/// Coverage without a payment: forgiven, awaited, paused, or not yet reported.
struct GoodwillTests {
  private static let paid = [
    subscription(0, .active), invoice(0, "in_1", .paid, from: 0, to: 30),
    invoicePayment(0, "inpay_1", of: "in_1", by: "pi_1"),
  ]

  @Test func `a downgrade within a voided period takes effect`() {
    let story = Story(
      Self.paid + [
        invoice(31, "in_2", .void, from: 30, to: 60),
        subscription(40, .active, price: "price_small"),
      ])
    #expect(story.coverage.entry(at: at(45))?.planID == "small")
    #expect(story.coverage.entry(at: at(45))?.why == .courtesy)
    let billed = Story(
      story.deliveries + [
        invoice(
          40, "in_3", .paid, lines: [("price_premium", -200, 40, 60), ("price_small", 60, 40, 60)],
          isCycle: false)
      ])
    #expect(
      billed.schedule == [
        "day 0 premium subscribed", "day 30 premium courtesy", "day 40 small subscribed",
        "day 60 small leeway", "day 61 2 h free lapsed",
      ])
  }

  @Test func `a downgrade within a period of paused collection takes effect`() {
    let story = Story([
      invoice(0, "in_1", .paid, from: 0, to: 30),
      invoice(30, "in_2", .draft, from: 30, to: 60, isAttempted: false),
      subscription(40, .active, price: "price_small", paused: true),
    ])
    #expect(story.coverage.entry(at: at(45))?.planID == "small")
  }

  @Test func `a renewal forgiven while the month before is refunded stays forgiven`() {
    let story = Story(
      Self.paid + [invoice(31, "in_2", .void, from: 30, to: 60), refund(35, "re_1")])
    #expect(story.coverage.entry(at: at(36))?.why == .courtesy)
    #expect(story.coverage.entry(at: at(59))?.planID == "premium")
  }

  @Test func `a lost dispute of an upgrade gives the old plan back, as a refund does`() {
    let story = Story([
      invoice(0, "in_1", .paid, lines: [("price_small", 99, 0, 30)]),
      invoice(
        10, "in_2", .paid, lines: [("price_small", -66, 10, 30), ("price_premium", 200, 10, 30)],
        isCycle: false),
      invoicePayment(10, "inpay_2", of: "in_2", by: "pi_2"),
      subscription(10, .active, price: "price_premium"),
      dispute(15, .needsResponse, of: "pi_2"), dispute(20, .lost, of: "pi_2", made: 15),
    ])
    #expect(
      story.schedule.prefix(4) == [
        "day 0 small subscribed", "day 10 premium subscribed", "day 15 small subscribed",
        "day 30 small leeway",
      ])
  }

  // MARK: Invoices that are sent

  private static func sent(
    _ created: Double, _ id: String, _ status: StripeInvoice.Status = .open, from: Double,
    due: Double, isCycle: Bool = true
  ) -> Story.Delivery {
    invoice(
      created, id, status,
      billing: [line("price_premium", 299, from: from, to: from + 30, item: "si_1")],
      isCycle: isCycle, isAttempted: false, due: due)
  }

  @Test func `an invoice that was sent is awaited until it is due, then grace`() {
    let active = Story(Self.paid + [Self.sent(30.1, "in_2", from: 30, due: 44)])
    #expect(
      active.schedule == [
        "day 0 premium subscribed", "day 30 premium courtesy", "day 44 premium grace",
        "day 51 free payment_failed",
      ])
    let overdue = Story(active.deliveries + [subscription(44, .pastDue)])
    #expect(overdue.schedule == active.schedule)
    let paid = Story(
      overdue.deliveries + [Self.sent(46, "in_2", .paid, from: 30, due: 44)])
    #expect(paid.schedule.prefix(2) == ["day 0 premium subscribed", "day 60 premium leeway"])
  }

  @Test func `net 30 is awaited to the end of its month and has grace after it`() {
    let story = Story(Self.paid + [Self.sent(30.1, "in_2", from: 30, due: 60)])
    #expect(
      story.schedule.dropFirst() == [
        "day 30 premium courtesy", "day 60 premium grace", "day 67 free payment_failed",
      ])
  }

  @Test func `further invoices extend nothing while an earlier one is overdue`() {
    let story = Story(
      Self.paid + [
        Self.sent(30.1, "in_2", from: 30, due: 60), subscription(60, .pastDue),
        Self.sent(60.1, "in_3", from: 60, due: 90),
      ])
    #expect(
      story.schedule.dropFirst() == [
        "day 30 premium courtesy", "day 60 premium grace", "day 67 free payment_failed",
      ])
  }

  @Test func `the first invoice that was sent is awaited, and no grace follows it`() {
    let first = [
      subscription(0, .active, latestInvoice: "in_1"),
      Self.sent(0, "in_1", from: 0, due: 14, isCycle: false),
    ]
    #expect(Story(first).schedule.first == "day 0 premium courtesy")
    let overdue = Story(first + [subscription(14, .pastDue, latestInvoice: "in_1")])
    #expect(overdue.schedule == ["day 0 premium courtesy", "day 14 free payment_failed"])
  }

  // MARK: The first payment

  @Test func `a first payment that was not seen is a day of leeway, and asked for`() {
    let story = Story([subscription(1, .active, began: 0, latestInvoice: "in_1")])
    #expect(story.schedule == ["day 0 premium leeway", "day 1 2 h free lapsed"])
    #expect(story.coverage.alarms.isEmpty)
    #expect(story.record.unknown.map(\.id) == ["in_1"])
    let open = Story(
      story.deliveries + [invoice(1, "in_1", .open, from: 0, to: 30, isCycle: false)])
    #expect(open.schedule.isEmpty)
    #expect(open.record.unknown.isEmpty)
  }

  @Test func `active without any invoice is a day of leeway and an alarm`() {
    let story = Story([subscription(1, .active, began: 0)])
    #expect(story.schedule == ["day 0 premium leeway", "day 1 2 h free lapsed"])
    #expect(story.coverage.alarms == [.activeWithoutPayment])
  }

  @Test(arguments: [StripeSubscription.Status.active, .trialing, .pastDue])
  func `a renewal whose invoice nobody told of is asked for`(status: StripeSubscription.Status) {
    let story = Story(Self.paid + [subscription(30, status, latestInvoice: "in_2")])
    #expect(story.record.unknown.map(\.id) == ["in_2"])
  }

  @Test(arguments: [StripeSubscription.Status.canceled, .unpaid, .incomplete])
  func `what owes nothing asks for no invoice`(status: StripeSubscription.Status) {
    #expect(
      Story([subscription(30, status, latestInvoice: "in_2")]).record.unknown.isEmpty)
  }

  // MARK: Written off

  @Test func `only what was forgiven to the user is a courtesy among invoices written off`() {
    func written(_ reason: String?) -> Story {
      Story(
        Self.paid + [
          invoice(
            31, "in_2", .uncollectible,
            billing: [line("price_premium", 299, from: 30, to: 60, item: nil)], reason: reason)
        ])
    }
    #expect(written("user_forgiven").schedule[1] == "day 30 premium courtesy")
    for reason in [
      "max_payment_attempts", "payment_not_received", "subscription_canceled",
      "subscription_paused", nil,
    ] {
      #expect(written(reason).schedule[1] == "day 30 free payment_failed")
      #expect(written(reason).coverage.alarms.isEmpty)
    }
    #expect(
      written("novel").coverage.alarms == [.unknownStatus("uncollectible: novel")])
  }

  @Test(arguments: [StripeInvoice.Status.void, .uncollectible])
  func `what a pause of collection forgave stays forgiven when the pause is over`(
    status: StripeInvoice.Status
  ) {
    let forgiven = invoice(
      30, "in_2", status, from: 30, to: 60, isAttempted: false)
    let paused = Self.paid + [subscription(20, .active, paused: true), forgiven]
    let resumed = paused + [subscription(40, .active)]
    for story in [Story(paused), Story(resumed)] {
      #expect(
        story.schedule.prefix(3) == [
          "day 0 premium subscribed", "day 30 premium courtesy", "day 60 premium leeway",
        ])
      #expect(story.label(day: 45) == .active)
    }
  }

  @Test(arguments: [StripeInvoice.Status.void, .uncollectible])
  func `a forgiven month stands when the payment of the next one fails, and grace follows it`(
    status: StripeInvoice.Status
  ) {
    let story = Story(
      Self.paid + [
        invoice(30, "in_2", status, from: 30, to: 60, isAttempted: false),
        invoice(60.1, "in_3", .open, from: 60, to: 90), subscription(60.1, .pastDue),
      ])
    #expect(
      story.schedule == [
        "day 0 premium subscribed", "day 30 premium courtesy", "day 60 premium grace",
        "day 67 free payment_failed",
      ])
  }

  @Test func `a renewal that was voided while it is overdue is not forgiven`() {
    let story = Story(
      Self.paid + [
        invoice(40, "in_2", .void, from: 30, to: 60), subscription(30.1, .pastDue),
      ])
    #expect(
      story.schedule == [
        "day 0 premium subscribed", "day 30 premium grace", "day 37 free payment_failed",
      ])
  }

  @Test func `an item that is billed three times counts once, with an alarm`() {
    let story = Story([
      Story.Delivery(
        object: .subscription(
          StripeSubscription(
            customer: "cus_1", status: .active,
            items: [
              .init(id: "si_1", price: "price_premium", product: "prod_1"),
              .init(id: "si_2", price: "price_extra", product: "prod_1", quantity: 3),
            ])), id: subscriptionID, created: at(0)),
      invoice(
        0, "in_1", .paid,
        billing: [
          line("price_premium", 299, from: 0, to: 30, item: "si_1"),
          line("price_extra", 297, from: 0, to: 30, item: "si_2"),
        ]),
    ])
    #expect(story.caps(day: 1) == 1050)
    #expect(story.coverage.alarms == [.irregularPayment(.quantity, object: "extra x 3")])
  }

  @Test
  func `a quantity that changes in mid-period adds once throughout, and is told while it is more`()
  {
    func items(_ day: Double, _ quantity: Int64) -> Story.Delivery {
      Story.Delivery(
        object: .subscription(
          StripeSubscription(
            customer: "cus_1", status: .active,
            items: [
              .init(id: "si_1", price: "price_premium", product: "prod_1"),
              .init(id: "si_2", price: "price_extra", product: "prod_1", quantity: quantity),
            ])), id: subscriptionID, created: at(day))
    }
    let paid = invoice(
      0, "in_1", .paid,
      billing: [
        line("price_premium", 299, from: 0, to: 30, item: "si_1"),
        line("price_extra", 99, from: 0, to: 30, item: "si_2"),
      ])
    let more = [paid, items(0, 1), items(10, 3)]
    for isMore in [true, false] {
      let deliveries: [Story.Delivery] = isMore ? more : more + [items(20, 1)]
      for order in deliveries.permutations {
        let story = Story(order)
        for day in [1.0, 11, 21, 29] { #expect(story.caps(day: day) == 1050) }
        let isTold = story.coverage.alarms == [.irregularPayment(.quantity, object: "extra x 3")]
        #expect(isTold == isMore && story.coverage.alarms.isEmpty != isMore)
      }
    }
  }

  // MARK: The status `paused`

  private static func paused(
    _ day: Double, _ reason: StripeSubscription.Pause.Reason
  ) -> Story.Delivery {
    subscription(day, .paused, pause: .init(reason, at: at(day)))
  }

  @Test func `a pause on request ends the paid month there, without grace`() {
    let story = Story(Self.paid + [Self.paused(10, .requested)])
    #expect(story.schedule == ["day 0 premium subscribed", "day 10 free lapsed"])
    #expect(story.label(day: 11) == .paused)
    #expect(story.coverage.alarms.isEmpty)
  }

  @Test func `a resumed subscription is owed what it pays, and what was not credited`() {
    let resumed = Story(
      Self.paid + [
        Self.paused(10, .requested), subscription(20, .active),
        invoice(
          20, "in_2", .paid,
          lines: [("price_premium", -200, 10, 30), ("price_premium", 299, 20, 50)],
          isCycle: false),
      ])
    #expect(
      resumed.schedule.prefix(4) == [
        "day 0 premium subscribed", "day 10 free lapsed", "day 20 premium subscribed",
        "day 50 premium leeway",
      ])
    let kept = Story(Self.paid + [Self.paused(10, .requested), subscription(20, .active)])
    #expect(kept.label(day: 29) == .active)
  }

  @Test(arguments: [
    StripeSubscription.Pause.Reason.firstPaymentFailure, .finalPaymentFailure,
  ])
  func `a pause for a failed payment is grace from the unpaid period on, then nothing`(
    reason: StripeSubscription.Pause.Reason
  ) {
    let story = Story(
      Self.paid + [invoice(30.1, "in_2", .open, from: 30, to: 60), Self.paused(30.1, reason)])
    #expect(
      story.schedule == [
        "day 0 premium subscribed", "day 30 premium grace", "day 37 free payment_failed",
      ])
    #expect(story.label(day: 38) == .paused)
  }

  @Test func `money that comes during a pause is kept and opens access when it ends`() {
    let paid = Story(
      Self.paid + [
        invoice(30.1, "in_2", .open, from: 30, to: 60), Self.paused(30.1, .firstPaymentFailure),
        invoice(40, "in_2", .paid, from: 30, to: 60),
      ])
    #expect(paid.label(day: 41) == .paused)
    let resumed = Story(paid.deliveries + [subscription(42, .active)])
    #expect(resumed.label(day: 43) == .active)
  }

  @Test func `a pause for an unknown reason takes nothing that was paid, and raises an alarm`() {
    let unknown = Story(Self.paid + [Self.paused(10, .other("novel"))])
    #expect(unknown.schedule == ["day 0 premium subscribed", "day 30 free lapsed"])
    #expect(unknown.coverage.alarms == [.unknownStatus("paused: novel")])
    let absent = Story(Self.paid + [subscription(10, .paused)])
    #expect(absent.schedule == unknown.schedule)
    #expect(absent.coverage.alarms == [.unknownStatus("paused: no reason")])
    let trial = Story([
      subscription(0, .trialing, trial: 0...14), subscription(14, .paused, trial: 0...14),
    ])
    #expect(trial.coverage.alarms.isEmpty)
  }

  // MARK: Appeals

  @Test(arguments: [StripeDispute.Status.appealNeedsResponse, .appealUnderReview])
  func `an appeal is as lost until it is won`(status: StripeDispute.Status) {
    let lost = Self.paid + [dispute(5, .lost, made: 4)]
    let appealed = Story(lost + [dispute(8, status, made: 4)])
    #expect(appealed.schedule == ["day 0 premium subscribed", "day 4 free refunded"])
    let won = Story(appealed.deliveries + [dispute(20, .won, made: 4)])
    #expect(won.label(day: 25) == .active)
    let lostAgain = Story(appealed.deliveries + [dispute(20, .lost, made: 4)])
    #expect(lostAgain.schedule == appealed.schedule)
    #expect(Story(lost + [dispute(5, status, made: 4)]).record.isDirty)
  }
}
