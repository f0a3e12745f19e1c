import Base
import StoreFacts
import Stripe
import Subscriptions
import Testing
import Tiers

/// Stories as a customer experiences them; each test expects the whole schedule.
struct StoryTests {
  @Test func `a paid month gives that month, and a day of leeway for the renewal`() {
    let story = Story([subscription(0, .active), invoice(0, "in_1", .paid, from: 0, to: 30)])
    #expect(
      story.schedule == [
        "day 0 premium subscribed", "day 30 premium leeway", "day 31 2 h free lapsed",
      ])
    #expect(story.label(day: 10) == .active)
    #expect(story.label(day: 40) == .renewalPending)
  }

  @Test func `a snapshot alone never creates paid time`() {
    let story = Story([subscription(0, .active)])
    #expect(story.schedule.isEmpty)
    #expect(story.label(day: 1) == .pending)
  }

  @Test func `an unpaid first invoice gives nothing, also when it expires`() {
    let open = invoice(0, "in_1", .open, from: 0, to: 30, isCycle: false)
    #expect(Story([subscription(0, .incomplete), open]).schedule.isEmpty)
    let expired = Story([
      subscription(0, .incomplete), open, subscription(1, .incompleteExpired, endedAt: 1),
      invoice(1, "in_1", .void, from: 0, to: 30, isCycle: false),
    ])
    #expect(expired.schedule.isEmpty)
    #expect(expired.label(day: 2) == .expired)
  }

  @Test func `renewals join without a seam`() {
    let story = Story([
      subscription(0, .active), invoice(0, "in_1", .paid, from: 0, to: 30),
      subscription(30, .active), invoice(30.1, "in_2", .paid, from: 30, to: 60),
    ])
    #expect(
      story.schedule == [
        "day 0 premium subscribed", "day 60 premium leeway", "day 61 2 h free lapsed",
      ])
  }

  @Test func `created, updated and deleted within one second is ended`() {
    let story = Story([
      subscription(0, .incomplete), subscription(0, .active),
      subscription(0, .canceled, endedAt: 0), invoice(0, "in_1", .paid, from: 0, to: 30),
    ])
    #expect(story.schedule.isEmpty)
    #expect(story.label(day: 1) == .expired)
    #expect(!story.record.isDirty)
  }

  @Test func `a new period and then past_due is paid to the old end, then grace`() {
    let story = Story([
      subscription(0, .active), invoice(0, "in_1", .paid, from: 0, to: 30),
      subscription(30, .active), invoice(30.1, "in_2", .open, from: 30, to: 60),
      subscription(30.2, .pastDue),
    ])
    #expect(
      story.schedule == [
        "day 0 premium subscribed", "day 30 premium grace", "day 37 free payment_failed",
      ])
    #expect(story.label(day: 31) == .grace)
    #expect(story.label(day: 38) == .onHold)
  }

  @Test func `an attempted renewal is grace even before past_due is seen`() {
    let story = Story([
      subscription(0, .active), invoice(0, "in_1", .paid, from: 0, to: 30),
      invoice(30.1, "in_2", .open, from: 30, to: 60),
    ])
    #expect(story.schedule[1] == "day 30 premium grace")
  }

  @Test func `a failed renewal that is paid in the end leaves no gap`() {
    let story = Story([
      subscription(0, .active), invoice(0, "in_1", .paid, from: 0, to: 30),
      subscription(30.2, .pastDue), invoice(30.1, "in_2", .open, from: 30, to: 60),
      invoice(33, "in_2", .paid, from: 30, to: 60),
    ])
    #expect(
      story.schedule == [
        "day 0 premium subscribed", "day 60 premium leeway", "day 61 2 h free lapsed",
      ])
  }

  @Test(arguments: [StripeSubscription.Status.unpaid, .canceled])
  func `exhausted retries end access at the paid end`(status: StripeSubscription.Status) {
    let story = Story([
      subscription(0, .active), invoice(0, "in_1", .paid, from: 0, to: 30),
      invoice(30.1, "in_2", .open, from: 30, to: 60),
      subscription(
        33, status, endedAt: status == .canceled ? 33 : nil,
        endedByFailedPayment: status == .canceled),
    ])
    #expect(story.schedule == ["day 0 premium subscribed", "day 30 free payment_failed"])
  }

  @Test func `a voluntary cancel ends exactly at the period end`() {
    let flagged = Story([
      invoice(0, "in_1", .paid, from: 0, to: 30), subscription(3, .active, cancelAtPeriodEnd: true),
    ])
    let dated = Story([
      invoice(0, "in_1", .paid, from: 0, to: 30), subscription(3, .active, cancelAt: 30),
    ])
    let deleted = Story([
      invoice(0, "in_1", .paid, from: 0, to: 30), subscription(30, .canceled, endedAt: 30),
    ])
    for story in [flagged, dated, deleted] {
      #expect(story.schedule == ["day 0 premium subscribed", "day 30 free lapsed"])
      #expect(!story.record.willRenew)
      #expect(story.label(day: 31) == .expired)
    }
  }

  @Test func `the newest bill can still be paid after an older one was paid late`() {
    let story = Story([
      subscription(30, .pastDue), invoice(30, "in_2", .open, from: 30, to: 60),
      invoice(35, "in_1", .paid, from: 0, to: 30),
    ])
    #expect(story.record.record.bill.retryable?.object.id == "in_2")
  }

  @Test func `a cancel for a date after the next period renews until then`() {
    let deliveries = [
      invoice(0, "in_1", .paid, from: 0, to: 30), subscription(3, .active, cancelAt: 60),
    ]
    #expect(Story(deliveries).record.willRenew)
    let last = Story(deliveries + [invoice(30, "in_2", .paid, from: 30, to: 60)])
    #expect(!last.record.willRenew)
  }

  @Test func `a trial of the past does not show that a cancelled subscription renews`() {
    #expect(!Story([subscription(20, .active, cancelAt: 44, trial: 0...14)]).record.willRenew)
  }

  @Test func `a store that does not answer extends nothing beyond the date of a cancel`() {
    var record = Story([
      invoice(0, "in_1", .paid, from: 0, to: 30), subscription(3, .active, cancelAt: 32),
    ]).record
    record.unansweredSince = at(29)
    let coverage = record.coverage(policy: .standard, catalogue: catalogue)
    let last = Schedule([coverage], catalogue: catalogue).boundaries.last
    #expect(last?.from == at(32))
  }

  @Test func `a cancel taken back renews again`() {
    let story = Story([
      invoice(0, "in_1", .paid, from: 0, to: 30), subscription(3, .active, cancelAtPeriodEnd: true),
      subscription(4, .active),
    ])
    #expect(story.schedule[1] == "day 30 premium leeway")
    #expect(story.record.willRenew)
  }

  @Test func `an immediate end ends access at once`() {
    let story = Story([
      invoice(0, "in_1", .paid, from: 0, to: 30), subscription(10, .canceled, endedAt: 10),
    ])
    #expect(story.schedule == ["day 0 premium subscribed", "day 10 free lapsed"])
  }

  @Test func `canceled_at alone ends nothing`() {
    let story = Story([
      invoice(0, "in_1", .paid, from: 0, to: 30), subscription(10, .active),
    ])
    #expect(story.label(day: 20) == .active)
  }

  @Test func `an upgrade whose proration stays unpaid keeps the old plan to its paid end`() {
    let story = Story([
      subscription(0, .active, price: "price_small"),
      invoice(0, "in_1", .paid, lines: [("price_small", 99, 0, 30)]),
      invoice(10, "in_2", .open, lines: [("price_premium", 200, 10, 30)], isCycle: false),
      subscription(10, .pastDue, price: "price_premium"),
    ])
    #expect(story.label(day: 29) == .active)
    #expect(story.schedule.prefix(2) == ["day 0 small subscribed", "day 30 small grace"])
  }

  @Test func `a paid upgrade takes over at its start`() {
    let story = Story([
      subscription(0, .active, price: "price_small"),
      invoice(0, "in_1", .paid, lines: [("price_small", 99, 0, 30)]),
      invoice(
        10, "in_2", .paid, lines: [("price_small", -66, 10, 30), ("price_premium", 200, 10, 30)],
        isCycle: false),
      subscription(10, .active, price: "price_premium"),
    ])
    #expect(story.schedule.prefix(2) == ["day 0 small subscribed", "day 10 premium subscribed"])
  }

  @Test func `a paid upgrade counts before its snapshot is seen`() {
    let story = Story([
      subscription(0, .active, price: "price_small"),
      invoice(0, "in_1", .paid, lines: [("price_small", 99, 0, 30)]),
      invoice(10, "in_2", .paid, lines: [("price_premium", 200, 10, 30)], isCycle: false),
    ])
    #expect(story.schedule[1] == "day 10 premium subscribed")
  }

  @Test func `an upgrade billed at the next renewal holds at once`() {
    let story = Story([
      invoice(0, "in_1", .paid, lines: [("price_small", 99, 0, 30)]),
      subscription(10, .active, price: "price_premium"),
    ])
    #expect(story.coverage.entry(at: at(11))?.planID == "premium")
  }

  @Test func `a yearly plan changed to a monthly one ends with the month`() {
    let story = Story([
      invoice(0, "in_1", .paid, from: 0, to: 365),
      invoice(
        40, "in_2", .paid,
        lines: [("price_premium", -2700, 40, 365), ("price_small", 299, 40, 70)], isCycle: false),
      subscription(41, .active, price: "price_small", cancelAtPeriodEnd: true),
    ])
    #expect(
      story.schedule == [
        "day 0 premium subscribed", "day 40 small subscribed", "day 70 free lapsed",
      ])
  }

  @Test func `a trial is access, its zero invoice is no payment`() {
    let story = Story([
      subscription(0, .trialing, trial: 0...14),
      invoice(0, "in_1", .paid, lines: [("price_premium", 0, 0, 14)], isCycle: false),
    ])
    #expect(
      story.schedule == [
        "day 0 premium trial", "day 14 premium leeway", "day 15 2 h free lapsed",
      ])
    #expect(story.label(day: 3) == .trialing)
  }

  @Test func `a trial that was never paid has no grace unless the policy says so`() {
    var story = Story([
      invoice(0, "in_1", .paid, lines: [("price_premium", 0, 0, 14)], isCycle: false),
      invoice(14, "in_2", .open, from: 14, to: 44), subscription(14.1, .pastDue, trial: 0...14),
    ])
    #expect(story.schedule == ["day 0 premium trial", "day 14 free payment_failed"])
    story.policy.graceAfterUnpaidTrial = true
    #expect(story.schedule[1] == "day 14 premium grace")
  }

  @Test func `a trial without a card pauses, and resuming pays anew`() {
    let paused = Story([
      subscription(0, .trialing, trial: 0...14), subscription(14, .paused, trial: 0...14),
    ])
    #expect(paused.schedule == ["day 0 premium trial", "day 14 free lapsed"])
    #expect(paused.label(day: 15) == .paused)
    let resumed = Story(
      paused.deliveries + [
        subscription(20, .active, trial: 0...14), invoice(20, "in_2", .paid, from: 20, to: 50),
      ])
    #expect(resumed.schedule[2] == "day 20 premium subscribed")
  }

  @Test func `an open invoice paid after the end opens its period and raises an alarm`() {
    let story = Story([
      invoice(0, "in_1", .paid, from: 0, to: 30), invoice(30, "in_2", .open, from: 30, to: 60),
      subscription(33, .canceled, endedAt: 33, endedByFailedPayment: true),
      invoice(40, "in_2", .paid, from: 30, to: 60),
    ])
    #expect(story.schedule.prefix(1) == ["day 0 premium subscribed"])
    #expect(story.label(day: 45) == .active)
    #expect(story.coverage.alarms == [.paidAfterEnd(invoice: "in_2")])
    #expect(!story.record.willRenew)
  }

  @Test func `a deleted customer ends everything then`() {
    let story = Story([
      subscription(0, .active), invoice(0, "in_1", .paid, from: 0, to: 30),
      Story.Delivery(
        object: .customer(StripeCustomer()), id: "cus_1", created: at(5)),
    ])
    #expect(story.schedule == ["day 0 premium subscribed", "day 5 free lapsed"])
    #expect(story.label(day: 6) == .expired)
  }

  @Test func `a voided renewal is courtesy, a written-off one is not`() {
    let base = [subscription(0, .active), invoice(0, "in_1", .paid, from: 0, to: 30)]
    let voided = Story(base + [invoice(31, "in_2", .void, from: 30, to: 60)])
    #expect(voided.schedule[1] == "day 30 premium courtesy")
    let written = Story(base + [invoice(31, "in_2", .uncollectible, from: 30, to: 60)])
    #expect(written.schedule[1] == "day 30 free payment_failed")
  }

  @Test func `paused collection gives the periods it forgoes`() {
    let story = Story([
      invoice(0, "in_1", .paid, from: 0, to: 30), subscription(20, .active, paused: true),
      invoice(30, "in_2", .draft, from: 30, to: 60, isAttempted: false),
    ])
    #expect(story.schedule[1] == "day 30 premium courtesy")
  }

  @Test func `a shirt and an unknown product grant nothing, the latter with an alarm`() {
    let shirt = Story([
      subscription(0, .active, price: "price_shirt"),
      invoice(0, "in_1", .paid, lines: [("price_shirt", 2000, 0, 30)]),
    ])
    #expect(shirt.schedule.isEmpty)
    #expect(shirt.coverage.alarms.isEmpty)
    let unknown = Story([
      subscription(0, .active, price: "price_x"),
      invoice(0, "in_1", .paid, lines: [("price_x", 299, 0, 30)]),
    ])
    #expect(unknown.schedule.isEmpty)
    #expect(unknown.coverage.alarms == [.unknownProduct(price: "price_x", product: "prod_1")])
  }

  @Test func `an unknown product is the fallback plan where the catalogue names one`() throws {
    let story = Story([
      subscription(0, .active, price: "price_x"),
      invoice(0, "in_1", .paid, lines: [("price_x", 299, 0, 30)]),
    ])
    let kind = try Catalogue(
      version: "2", free: catalogue.free, paid: catalogue.paid, fallbackPlanID: "fallback")
    let coverage = story.record.coverage(policy: .standard, catalogue: kind)
    #expect(coverage.entry(at: at(1))?.planID == "fallback")
    #expect(!coverage.alarms.isEmpty)
  }

  @Test func `two states of one second owe what either owes, until read again`() {
    let story = Story([
      invoice(0, "in_1", .paid, from: 0, to: 30), subscription(5, .active, cancelAtPeriodEnd: true),
      subscription(5, .active),
    ])
    #expect(story.record.isDirty)
    #expect(story.schedule[1] == "day 30 premium leeway")
    #expect(!Story(story.deliveries + [subscription(6, .active)]).record.isDirty)
  }

  @Test func `an unknown status gives no new access and raises an alarm`() {
    let story = Story([
      invoice(0, "in_1", .paid, from: 0, to: 30), subscription(5, .other("dormant")),
    ])
    #expect(story.schedule == ["day 0 premium subscribed", "day 30 free lapsed"])
    #expect(story.coverage.alarms == [.unknownStatus("dormant")])
  }
}
