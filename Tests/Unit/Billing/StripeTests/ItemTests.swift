import Base
import StoreFacts
import Stripe
import Subscriptions
import Testing
import Tiers

/// Several items on one subscription: a plan and additions to it.
struct ItemTests {
  /// Whether prorations name their item, as before basil (2025-03-31).
  static let shapes = [true, false]

  private static let both = ["si_1": "price_premium", "si_2": "price_extra"]
  private static let plan = line("price_premium", 299, from: 0, to: 30, item: "si_1")
  private static let extra = line("price_extra", 99, from: 0, to: 30, item: "si_2")

  /// Bought together, each with its own amount.
  private static let together = [
    subscription(0, .active, items: both), invoice(0, "in_1", .paid, billing: [plan, extra]),
  ]

  /// The addition is bought on day 10.
  private static func added(_ named: Bool) -> [Story.Delivery] {
    [
      subscription(0, .active, items: ["si_1": "price_premium"]),
      invoice(0, "in_1", .paid, billing: [plan]), subscription(10, .active, items: both),
      invoice(
        10, "in_2", .paid,
        billing: [line("price_extra", 66, from: 10, to: 30, item: named ? "si_2" : nil)],
        isCycle: false, payments: ["pi_2"]),
    ]
  }

  private static func renewal(
    _ day: Double, _ status: StripeInvoice.Status, _ more: [StripeInvoice.Line] = []
  ) -> Story.Delivery {
    invoice(
      day, "in_9", status,
      billing: more + [
        line("price_premium", 299, from: 30, to: 60, item: "si_1"),
        line("price_extra", 99, from: 30, to: 60, item: "si_2"),
      ])
  }

  @Test func `a plan and an addition bought together add up`() {
    #expect(
      Story(Self.together).caps == [
        "day 0 1050 premium subscribed", "day 30 1050 premium leeway", "day 31 2 h 10 free lapsed",
      ])
  }

  @Test(.timeLimit(.minutes(1)))
  func `as many items and lines as a delivery can hold are one plan`() {
    let numbers = 0..<3000
    let items = Dictionary(uniqueKeysWithValues: numbers.map { ("si_\($0)", "price_premium") })
    let lines = numbers.map { line("price_premium", 1, from: 0, to: 30, item: "old_\($0)") }
    let story = Story([
      subscription(0, .active, items: items), invoice(0, "in_1", .paid, billing: lines),
    ])
    #expect(
      story.caps == [
        "day 0 1000 premium subscribed", "day 30 1000 premium leeway", "day 31 2 h 10 free lapsed",
      ])
  }

  @Test(arguments: shapes)
  func `an addition bought in mid-period adds, and takes nothing away`(named: Bool) {
    #expect(
      Story(Self.added(named)).caps == [
        "day 0 1000 premium subscribed", "day 10 1050 premium subscribed",
        "day 30 1050 premium leeway", "day 31 2 h 10 free lapsed",
      ])
  }

  @Test(arguments: shapes)
  func `an addition that is paid before its snapshot is seen adds at once`(named: Bool) {
    let story = Story(Self.added(named).filter { $0.created != at(10) || $0.id == "in_2" })
    #expect(story.caps[1] == "day 10 1050 premium subscribed")
  }

  @Test(arguments: shapes)
  func `an addition billed on the next invoice adds at once`(named: Bool) {
    let story = Story(Self.added(named).filter { $0.id != "in_2" })
    #expect(story.caps(day: 11) == 1050)
    let renewed = Story(
      story.deliveries + [
        subscription(30, .active, items: Self.both),
        Self.renewal(
          30, .paid, [line("price_extra", 66, from: 10, to: 30, item: named ? "si_2" : nil)]),
      ])
    #expect(
      renewed.caps.prefix(3) == [
        "day 0 1000 premium subscribed", "day 10 1050 premium subscribed",
        "day 60 1050 premium leeway",
      ])
  }

  @Test(arguments: shapes)
  func `a failed renewal gives grace to the plan and to the addition`(named: Bool) {
    let story = Story(
      Self.added(named) + [
        subscription(30.1, .pastDue, items: Self.both), Self.renewal(30.1, .open),
      ])
    #expect(
      story.caps == [
        "day 0 1000 premium subscribed", "day 10 1050 premium subscribed",
        "day 30 1050 premium grace", "day 37 10 free payment_failed",
      ])
  }

  @Test func `a yearly plan outlives the monthly addition whose renewal fails`() {
    let story = Story([
      subscription(0, .active, items: Self.both),
      invoice(
        0, "in_1", .paid,
        billing: [line("price_premium", 3000, from: 0, to: 365, item: "si_1"), Self.extra]),
      invoice(
        30.1, "in_2", .open, billing: [line("price_extra", 99, from: 30, to: 60, item: "si_2")]),
      subscription(30.1, .pastDue, items: Self.both),
    ])
    #expect(story.caps(day: 29) == 1050)
    #expect(story.caps(day: 36) == 1050)
    #expect(story.caps(day: 38) == 1000)
    #expect(story.caps(day: 364) == 1000)
  }

  @Test func `a yearly addition outlives the month of the plan`() {
    let story = Story([
      subscription(0, .active, items: Self.both),
      invoice(
        0, "in_1", .paid,
        billing: [Self.plan, line("price_extra", 990, from: 0, to: 365, item: "si_2")]),
      invoice(
        30, "in_2", .paid, billing: [line("price_premium", 299, from: 30, to: 60, item: "si_1")]),
    ])
    #expect(story.caps(day: 45) == 1050)
    #expect(story.caps(day: 59) == 1050)
    #expect(story.caps(day: 63) == 60)
  }

  @Test(arguments: shapes)
  func `a cancelled addition ends where its unused time is given back`(named: Bool) {
    let story = Story(
      Self.added(named) + [
        subscription(20, .active, items: ["si_1": "price_premium"]),
        invoice(
          20, "in_3", .paid,
          billing: [line("price_extra", -33, from: 20, to: 30, item: named ? "si_2" : nil)],
          isCycle: false),
      ])
    #expect(
      story.caps == [
        "day 0 1000 premium subscribed", "day 10 1050 premium subscribed",
        "day 20 1000 premium subscribed", "day 30 1000 premium leeway",
        "day 31 2 h 10 free lapsed",
      ])
  }

  @Test(arguments: shapes)
  func `an addition that left the subscription is owed no longer, before its credit too`(
    named: Bool
  ) {
    let gone = ["si_1": "price_premium"]
    let story = Story(Self.added(named) + [subscription(20, .active, items: gone)])
    #expect(story.caps(day: 21) == 1000)
    let failing = Story(
      story.deliveries + [
        subscription(30.1, .pastDue, items: gone),
        invoice(
          30.1, "in_9", .open,
          billing: [
            line("price_extra", -33, from: 20, to: 30, item: named ? "si_2" : nil),
            line("price_premium", 299, from: 30, to: 60, item: "si_1"),
          ]),
      ])
    #expect(failing.caps(day: 31) == 1000)
    #expect(failing.label(day: 31) == .grace)
  }

  @Test(arguments: shapes)
  func `the plan changes while the addition stays`(named: Bool) {
    let item = named ? "si_1" : nil
    let upgraded = ["si_1": "price_premium", "si_2": "price_extra"]
    let story = Story([
      subscription(0, .active, items: ["si_1": "price_small", "si_2": "price_extra"]),
      invoice(
        0, "in_1", .paid,
        billing: [line("price_small", 99, from: 0, to: 30, item: "si_1"), Self.extra]),
      invoice(
        10, "in_2", .paid,
        billing: [
          line("price_small", -66, from: 10, to: 30, item: item),
          line("price_premium", 200, from: 10, to: 30, item: item),
        ], isCycle: false, payments: ["pi_2"]),
      subscription(10, .active, items: upgraded),
    ])
    #expect(
      story.caps == [
        "day 0 150 small subscribed", "day 10 1050 premium subscribed",
        "day 30 1050 premium leeway", "day 31 2 h 10 free lapsed",
      ])
    let back = Story(story.deliveries + [refund(15, "re_1", amount: 134, of: "pi_2")])
    #expect(back.caps(day: 14) == 1050)
    #expect(back.caps(day: 16) == 150)
  }

  @Test func `a change of the plan's interval leaves one plan and the addition`() {
    let story = Story(
      Self.together + [
        invoice(
          10, "in_2", .paid,
          billing: [
            line("price_premium", -200, from: 10, to: 30, item: nil),
            line("price_premium", 3000, from: 10, to: 375, item: "si_1"),
          ], isCycle: false),
        subscription(10, .active, items: Self.both),
      ])
    #expect(story.caps(day: 29) == 1050)
    #expect(story.caps(day: 374) == 1000)
  }

  @Test(arguments: shapes)
  func `a refund of the addition alone leaves the plan, and no grace for what went back`(
    named: Bool
  ) {
    let story = Story(Self.added(named) + [refund(12, "re_1", amount: 66, of: "pi_2")])
    #expect(
      story.caps == [
        "day 0 1000 premium subscribed", "day 10 1050 premium subscribed",
        "day 12 1000 premium subscribed", "day 30 1000 premium leeway",
        "day 31 2 h 10 free lapsed",
      ])
    let failing = Story(
      story.deliveries + [
        subscription(30.1, .pastDue, items: Self.both), Self.renewal(30.1, .open),
      ])
    #expect(failing.caps(day: 31) == 1000)
  }

  @Test func `two different additions add, the same one twice does not`() {
    let two = Story([
      subscription(
        0, .active,
        items: ["si_1": "price_premium", "si_2": "price_extra", "si_3": "price_more"]),
      invoice(
        0, "in_1", .paid,
        billing: [
          Self.plan, Self.extra, line("price_more", 120, from: 0, to: 30, item: "si_3"),
        ]),
    ])
    #expect(two.caps[0] == "day 0 1120 premium subscribed")
    let twice = Story([
      subscription(
        0, .active,
        items: ["si_1": "price_premium", "si_2": "price_extra", "si_3": "price_extra"]),
      invoice(
        0, "in_1", .paid,
        billing: [
          Self.plan, Self.extra, line("price_extra", 99, from: 0, to: 30, item: "si_3"),
        ]),
    ])
    #expect(twice.caps[0] == "day 0 1050 premium subscribed")
  }

  @Test func `a trial gives the plan and the addition`() {
    let story = Story([subscription(0, .trialing, trial: 0...14, items: Self.both)])
    #expect(story.caps[0] == "day 0 1050 premium trial")
  }

  @Test func `what was stored without items ends where its plan is billed again or given back`() {
    let story = Story([
      invoice(0, "in_1", .paid, lines: [("price_small", 99, 0, 30)]),
      invoice(
        10, "in_2", .paid,
        billing: [
          line("price_small", -66, from: 10, to: 30, item: "si_1"),
          line("price_premium", 200, from: 10, to: 30, item: "si_1"),
        ], isCycle: false),
      subscription(12, .active, items: ["si_1": "price_small"]),
      invoice(
        12, "in_3", .paid,
        billing: [
          line("price_premium", -180, from: 12, to: 30, item: "si_1"),
          line("price_small", 60, from: 12, to: 30, item: "si_1"),
        ], isCycle: false),
    ])
    #expect(
      story.caps.prefix(3) == [
        "day 0 100 small subscribed", "day 10 1000 premium subscribed",
        "day 12 100 small subscribed",
      ])
  }

  @Test func `what a coupon made free is given back as nothing, and ends all the same`() {
    let free = StripeInvoice.Line(
      price: "price_premium", product: "prod_1", amountMinorUnits: 0, isCredit: true,
      from: at(10), to: at(30))
    let story = Story([
      subscription(0, .active, items: ["si_1": "price_premium"]),
      invoice(
        0, "in_1", .paid, billing: [line("price_premium", 0, from: 0, to: 30, item: "si_1")]),
      invoice(
        10, "in_2", .paid,
        billing: [free, line("price_small", 0, from: 10, to: 30, item: nil)], isCycle: false),
      subscription(10, .active, items: ["si_1": "price_small"]),
    ])
    #expect(
      story.caps.prefix(2) == ["day 0 1000 premium subscribed", "day 10 100 small subscribed"])
  }

  @Test func `what was prebilled is owed for its own periods`() {
    let months = (0..<3).map {
      line("price_premium", 299, from: Double($0) * 30, to: Double($0) * 30 + 30, item: "si_1")
    }
    let story = Story([
      subscription(0, .active, items: ["si_1": "price_premium"]),
      invoice(0, "in_1", .paid, billing: months, made: 0),
    ])
    #expect(
      story.caps.prefix(2) == ["day 0 1000 premium subscribed", "day 90 1000 premium leeway"])
  }
}

extension Story {
  func caps(day: Double) -> Int64 {
    Schedule([coverage], catalogue: catalogue).entry(at: at(day)).capByteCount
  }
}
