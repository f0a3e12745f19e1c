import Apple
import Base
import Google
import SeededRandom
import Subscriptions
import Testing
import Tiers

/// The stories of Apple and Google that most systems get wrong, and the laws for their facts.
struct StoreStoryTests {
  private typealias F = StoreFacts

  // MARK: App Store

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

  @Test func `a renewal that was merely not seen is told as such, not as a failed payment`() {
    let apple = [F.transaction("t0", 0, 30), F.renewal(1)]
    let google = [F.purchase(.active, 0, 30)]
    for (key, facts) in [(F.appleKey, apple), (F.googleKey, google)] {
      #expect(F.label(key, facts, day: 31) == .active)
      #expect(F.label(key, facts, day: 32).rawValue == "renewal_pending")
    }
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

  // MARK: Google Play

  @Test func `an upgrade paid by pending cash leaves the old plan until the new is granted`() {
    let old = F.purchase(.active, 0, 30)
    let pending = F.purchase(.pending, nil, nil, id: "b2", product: "plus", replaces: "a1")
    #expect(F.label(F.googleKey, [old, pending], day: 9) == .active)
    let granted = F.purchase(
      .active, 10, 40, id: "b2", generation: 2, product: "plus", replaces: "a1")
    #expect(F.label(F.googleKey, [old, pending, granted], day: 9) == .active)
    #expect(F.label(F.googleKey, [old, pending, granted], day: 11) == .superseded)
  }

  @Test func `on hold, then cancelled with a past expiry: no access`() {
    let facts = [
      F.purchase(.onHold, 0, 30), F.purchase(.canceled, 0, 30, generation: 2, renews: false),
    ]
    #expect(F.label(F.googleKey, facts, day: 35) == .expired)
  }

  @Test func `a voluntary cancel ends exactly at the period's end`() {
    let facts = [
      F.purchase(.active, 0, 30), F.purchase(.canceled, 0, 30, generation: 2, renews: false),
    ]
    #expect(
      F.schedule(F.googleKey, facts) == ["day 0 premium subscribed", "day 30 free lapsed"])
  }

  @Test(arguments: [
    GooglePurchase.State.pending, .paused, .onHold, .expired, .pendingPurchaseCanceled,
    .other("NEW"),
  ])
  func `every other state gives none`(state: GooglePurchase.State) {
    let facts = [F.purchase(state, 0, 30)]
    #expect(!F.label(F.googleKey, facts, day: 9).givesAccess)
  }

  @Test func `a void order is a hint: it flags and cuts nothing by itself`() {
    let facts = [F.purchase(.active, 0, 30, order: "o1"), F.order("o1", .refunded)]
    #expect(F.label(F.googleKey, facts, day: 9) == .active)
    let coverage = F.subscription(F.googleKey, facts)
      .coverage(policy: .standard, catalogue: F.catalogue)
    #expect(coverage.alarms == [.reversal(.voidedOrder, object: "o1")])
  }

  // MARK: the reversal table

  private func policy(
    _ kind: ReversalTable.Kind, past: ReversalTable.Effect = .none,
    current: ReversalTable.Effect = .none
  ) -> Policy {
    Policy(
      version: "t", grace: .days(7), leeway: .hours(26), graceAfterUnpaidTrial: false,
      courtesyForVoided: true, courtesyForUncollectible: false, courtesyForPausedCollection: true,
      reversals: ReversalTable([kind: .init(past: past, current: current, unbound: .none)]))
  }

  @Test(arguments: ReversalTable.Effect.allCases, [true, false])
  func `each effect on the current and on a past period is what the table says`(
    effect: ReversalTable.Effect, isCurrent: Bool
  ) {
    for (revocation, kind, percentage) in [
      (AppleTransaction.Revocation.Kind.full, ReversalTable.Kind.fullRefund, Int64?.none),
      (.prorated, .proratedRefund, 40_000), (.prorated, .fullRefund, 100_000),
      (.family, .familyRevoke, nil), (.assignment, .assignmentRevoke, nil),
      (.unknown, .unknownRevocation, nil),
    ] {
      let facts =
        [F.transaction("t0", 0, 30, revoked: 5, revocation, percentage: percentage, signed: 9)]
        + (isCurrent ? [] : [F.transaction("t1", 30, 60)])
      let policy =
        isCurrent ? policy(kind, current: effect) : policy(kind, past: effect)
      let coverage = F.subscription(F.appleKey, facts)
        .coverage(policy: policy, catalogue: F.catalogue)
      let isCut = effect == .cut || effect == .suspend
      #expect((coverage.entry(at: at(20)) == nil) == isCut, "\(kind) \(effect)")
      #expect((coverage.entry(at: at(4)) != nil), "\(kind) \(effect)")
      #expect(coverage.alarms.isEmpty == (effect != .flag), "\(kind) \(effect)")
    }
  }

  @Test func `the standard table is what was decided, row by row`() {
    let table = ReversalTable.standard
    let rows = ReversalTable.Kind.allCases.map { kind in
      "\(kind.rawValue): "
        + ReversalTable.Scope.allCases.map { table.effect(of: kind, on: $0).rawValue }
        .joined(separator: " ")
    }
    #expect(
      rows == [
        "full_refund: cut cut flag", "partial_refund: flag flag flag",
        "prorated_refund: cut cut flag", "refund_reversed: none none none",
        "refund_failed: none none flag", "dispute_opened: flag flag flag",
        "dispute_won: none none none", "dispute_lost: cut cut flag",
        "family_revoke: cut cut flag", "assignment_revoke: cut cut flag",
        "unknown_revocation: flag flag flag", "voided_order: flag flag flag",
      ])
  }

  // MARK: laws

  @Test(arguments: [true, false])
  func `merging is commutative, associative and idempotent, and order cannot matter`(
    isApple: Bool
  ) {
    let key = isApple ? F.appleKey : F.googleKey
    let seed = SeededGenerator.seed(of: "stores' facts")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      let facts = (0..<8).map { _ in
        isApple ? F.anyApple(&random) : F.anyGoogle(&random)
      }
      func part(_ indices: [Int]) -> Subscription {
        var subscription = Subscription(key)
        for index in indices { subscription.insert(facts[index], source: Int64(index)) }
        return subscription
      }
      func merged(_ a: Subscription, _ b: Subscription) -> Subscription {
        var result = a
        result.merge(b)
        return result
      }
      let (a, b, c) = (part([0, 1, 2]), part([2, 3, 4]), part([5, 6, 7]))
      #expect(merged(a, b) == merged(b, a), "seed \(seed)")
      #expect(merged(merged(a, b), c) == merged(a, merged(b, c)), "seed \(seed)")
      #expect(merged(a, a) == a, "seed \(seed)")
      let shuffled = part((Array(0..<8) + [3, 5]).shuffled(using: &random))
      #expect(shuffled == part(Array(0..<8)), "seed \(seed)")
      let coverage = shuffled.coverage(policy: .standard, catalogue: F.catalogue)
      for day in stride(from: -3.0, to: 140, by: 3) {
        let label = shuffled.label(coverage, at: at(day))
        #expect(label.givesAccess == (coverage.entry(at: at(day)) != nil), "seed \(seed)")
      }
    }
  }
}
