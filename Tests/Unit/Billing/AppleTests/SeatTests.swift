import Apple
import StoreFacts
import Subscriptions
import Testing

/// Seats, unknown values, and yearly commitments that are paid monthly.
struct SeatTests {
  private typealias F = StoreFacts

  private func coverage(_ facts: [Fact]) -> Coverage {
    F.subscription(F.appleKey, facts).coverage(policy: .standard, catalogue: F.catalogue)
  }

  // MARK: seats and unknown values

  @Test func `a seat counts like a purchase, and its own token names its owner`() {
    let facts = [F.transaction("t0", 0, 30, account: accountB, ownership: .assigned)]
    #expect(F.label(F.appleKey, facts, day: 9) == .active)
    #expect(F.subscription(F.appleKey, facts).ownership.account == accountB)
  }

  @Test func `a seat that is taken back ends that day`() {
    let facts = [
      F.transaction("t0", 0, 30, revoked: 9, .assignment, signed: 9, ownership: .assigned)
    ]
    #expect(
      F.schedule(F.appleKey, facts) == ["day 0 premium subscribed", "day 9 free refunded"])
  }

  @Test func `what is held in an unknown way grants nothing by accident, and raises an alarm`() {
    let coverage = coverage([F.transaction("t0", 0, 30, ownership: .other("LENT"))])
    #expect(coverage.intervals.isEmpty)
    #expect(coverage.alarms == [.unknownStatus("LENT")])
  }

  @Test func `an unknown way to hold it takes nothing that was granted, in any order`() {
    let known = F.transaction("t0", 0, 30)
    let unknown = [
      F.transaction("t0", 0, 30, signed: 5, account: accountB, ownership: .other("LENT")),
      F.transaction("t1", 10, 40, signed: 10, account: accountB, ownership: .other("LENT")),
    ]
    for facts in [[known] + unknown, unknown + [known]] {
      #expect(
        F.schedule(F.appleKey, facts) == ["day 0 premium subscribed", "day 30 free lapsed"])
      #expect(F.subscription(F.appleKey, facts).ownership.account == accountA)
    }
  }

  @Test func `an unknown revocation is flagged, and cuts once the status says revoked`() {
    let revoked = F.transaction("t0", 0, 30, revoked: 9, .unknown, signed: 9)
    #expect(coverage([revoked]).alarms == [.reversal(.unknownRevocation, object: "t0")])
    #expect(F.label(F.appleKey, [revoked], day: 10) == .active)
    #expect(F.label(F.appleKey, [revoked, F.status(9, 5)], day: 10) == .revoked)
  }

  // MARK: commitments

  private let month = F.transaction("t0", 0, 30, committedTo: 360)
  private let last = F.transaction("t0", 330, 360, committedTo: 360)

  @Test func `a cancel within a commitment changes nothing until its end`() {
    let cancelled = F.renewal(9, commitmentRenews: false)
    #expect(
      F.schedule(F.appleKey, [month, cancelled]) == [
        "day 0 premium subscribed", "day 30 premium leeway", "day 31 2 h free lapsed",
      ])
    #expect(!F.subscription(F.appleKey, [month, cancelled]).willRenew)
    #expect(F.subscription(F.appleKey, [month, F.renewal(9, commitmentRenews: true)]).willRenew)
  }

  @Test func `a cancelled commitment ends exactly with its last month`() {
    let facts = [last, F.renewal(340, commitmentRenews: false)]
    #expect(
      F.schedule(F.appleKey, facts) == ["day 330 premium subscribed", "day 360 free lapsed"])
    #expect(F.label(F.appleKey, facts, day: 361) == .expired)
  }

  @Test func `a commitment that renews has leeway after its last month`() {
    let facts = [last, F.renewal(340, commitmentRenews: true)]
    #expect(F.label(F.appleKey, facts, day: 360.5) == .active)
  }

  @Test func `a commitment has no grace, whatever the renewal tells`() {
    for grace in [nil, 46.0] {
      let facts = [
        month, F.renewal(30, retry: true, grace: grace, commitmentRenews: true), F.status(30, 3),
      ]
      #expect(
        F.schedule(F.appleKey, facts) == [
          "day 0 premium subscribed", "day 30 free payment_failed",
        ])
    }
  }

  @Test func `a refund of the month under way ends the commitment`() {
    let refunded = F.transaction("t0", 0, 30, revoked: 9, signed: 9, committedTo: 360)
    let facts = [refunded, F.renewal(9, commitmentRenews: true)]
    #expect(F.label(F.appleKey, facts, day: 10) == .revoked)
    #expect(!F.subscription(F.appleKey, facts).willRenew)
  }

  @Test func `a refund of an earlier month leaves the commitment alone`() {
    let facts = [
      F.transaction("t0", 0, 30, revoked: 40, signed: 40, committedTo: 360),
      F.transaction("t1", 30, 60, committedTo: 360), F.renewal(40, commitmentRenews: true),
    ]
    #expect(F.label(F.appleKey, facts, day: 45) == .active)
    #expect(F.subscription(F.appleKey, facts).willRenew)
  }
}
