import Apple
import StoreFacts
import Subscriptions
import Testing

/// The coverage of App Store subscriptions in the cases that most systems get wrong.
struct FoldTests {
  private typealias F = StoreFacts

  @Test func `a yearly subscription changed to monthly that lapses ends with the monthly`() {
    let facts = [
      F.transaction("t0", 0, 365), F.transaction("t1", 40, 70, product: "plus"),
      F.renewal(70, renews: false, intent: 1),
    ]
    #expect(
      F.schedule(F.appleKey, facts) == [
        "day 0 premium subscribed", "day 40 plus subscribed", "day 70 free lapsed",
      ])
  }

  @Test func `refund, its reversal, and a refund again with one transaction id: revoked`() {
    let all = [
      F.transaction("t0", 0, 30), F.transaction("t0", 0, 30, revoked: 5, signed: 5),
      F.transaction("t0", 0, 30, signed: 6), F.transaction("t0", 0, 30, revoked: 5, signed: 7),
    ]
    #expect(F.label(F.appleKey, Array(all.prefix(3)), day: 8) == .active)
    for order in [all, all.reversed()] {
      #expect(F.label(F.appleKey, order, day: 8) == .revoked)
      #expect(
        F.schedule(F.appleKey, order) == ["day 0 premium subscribed", "day 5 free refunded"])
    }
  }

  @Test func `a refunded newer purchase does not revive the older one`() {
    let facts = [
      F.transaction("t0", 0, 365),
      F.transaction("t1", 40, 70, product: "plus", revoked: 45, signed: 45),
    ]
    #expect(
      F.schedule(F.appleKey, facts) == [
        "day 0 premium subscribed", "day 40 plus subscribed", "day 45 free refunded",
      ])
  }

  @Test func `the refund of an earlier period leaves the current one untouched`() {
    let facts = [
      F.transaction("t0", 0, 30, revoked: 33, signed: 33), F.transaction("t1", 30, 60),
      F.renewal(33),
    ]
    #expect(F.label(F.appleKey, facts, day: 40) == .active)
  }

  @Test func `grace is the store's to the moment, and leeway only where a renewal is expected`() {
    let paid = F.transaction("t0", 0, 30)
    #expect(
      F.schedule(F.appleKey, [paid, F.renewal(30, retry: true, grace: 36), F.status(30, 4)]) == [
        "day 0 premium subscribed", "day 30 premium grace", "day 36 free payment_failed",
      ])
    #expect(
      F.schedule(F.appleKey, [paid, F.renewal(1)]) == [
        "day 0 premium subscribed", "day 30 premium leeway", "day 31 2 h free lapsed",
      ])
    #expect(
      F.schedule(F.appleKey, [paid, F.renewal(9, renews: false)]) == [
        "day 0 premium subscribed", "day 30 free lapsed",
      ])
    #expect(
      F.schedule(F.appleKey, [paid, F.renewal(30, retry: true), F.status(30, 3)]) == [
        "day 0 premium subscribed", "day 30 free payment_failed",
      ])
  }

  @Test func `what is no storage is waited for while it renews, and then over`() {
    let facts = [F.transaction("t0", 0, 30, product: "stickers"), F.renewal(1)]
    #expect(F.label(F.appleKey, facts, day: 9) == .pending)
    #expect(F.label(F.appleKey, facts + [F.renewal(9, renews: false)], day: 9) == .expired)
  }

  @Test func `a payment that is being retried leaves a subscription that renews`() {
    let facts = [
      F.transaction("t0", 0, 30), F.renewal(30, intent: 2, retry: true, grace: 36), F.status(30, 4),
    ]
    #expect(F.label(F.appleKey, facts, day: 31) == .grace)
    #expect(F.subscription(F.appleKey, facts).willRenew)
    let given = F.subscription(
      F.appleKey, facts + [F.renewal(90, renews: false, intent: 2), F.status(90, 2)])
    #expect(!given.willRenew)
  }

  @Test(arguments: [1, 3, 4, 5] as [Int64])
  func `an expiry for another reason than billing does not renew`(intent: Int64) {
    let facts = [F.transaction("t0", 0, 30), F.renewal(30, intent: intent, retry: true)]
    #expect(!F.subscription(F.appleKey, facts).willRenew)
  }

  @Test func `a refund of the last period ends the grace that the store still tells of`() {
    let failing = [F.renewal(30, retry: true, grace: 46), F.status(30, 4)]
    let told = [F.renewal(33, retry: true, grace: 46), F.status(33, 4)]
    for kind in [AppleTransaction.Revocation.Kind.full, .prorated, .family] {
      let facts =
        failing + told + [F.transaction("t0", 0, 30, revoked: 33, kind, signed: 33)]
      #expect(
        F.schedule(F.appleKey, facts) == [
          "day 0 premium subscribed", "day 30 premium grace", "day 33 free refunded",
        ])
      #expect(F.label(F.appleKey, facts, day: 34) == .revoked)
    }
  }

  @Test func `a refund of the last period ends its leeway, too`() {
    let facts = [F.transaction("t0", 0, 30, revoked: 30.5, signed: 30.5), F.renewal(1)]
    #expect(
      F.schedule(F.appleKey, facts) == [
        "day 0 premium subscribed", "day 30 premium leeway", "day 30 12 h free refunded",
      ])
  }

  @Test func `a refund at the moment of expiry leaves neither grace nor leeway`() {
    for after in [F.renewal(30, retry: true, grace: 46), F.renewal(1)] {
      let facts = [F.transaction("t0", 0, 30, revoked: 30, signed: 31), after]
      #expect(
        F.schedule(F.appleKey, facts) == ["day 0 premium subscribed", "day 30 free refunded"])
    }
  }

  @Test func `a refund after grace is over changes nothing that was`() {
    let facts = [
      F.transaction("t0", 0, 30, revoked: 50, signed: 50), F.renewal(30, retry: true, grace: 46),
    ]
    #expect(
      F.schedule(F.appleKey, facts) == [
        "day 0 premium subscribed", "day 30 premium grace", "day 46 free payment_failed",
      ])
  }

  @Test func `once the store says revoked, the last end is a refund's, with or without grace`() {
    let facts = [F.transaction("t0", 0, 30, revoked: 33, signed: 33), F.status(50, 5)]
    #expect(F.schedule(F.appleKey, facts) == ["day 0 premium subscribed", "day 30 free refunded"])
    #expect(F.label(F.appleKey, facts, day: 51) == .revoked)
  }

  @Test func `a refund that is reversed gives its grace back`() {
    let facts = [
      F.transaction("t0", 0, 30, revoked: 33, signed: 33), F.transaction("t0", 0, 30, signed: 34),
      F.renewal(34, retry: true, grace: 46), F.status(34, 4),
    ]
    #expect(F.label(F.appleKey, facts, day: 35) == .grace)
  }
}
