import Base
import SeededRandom
import Testing
import Tiers

struct ScheduleTests {
  private let catalogue = Catalogue.standard
  private let premium = Catalogue.standard.paid[0]
  private let small = Plan(id: "small", title: "Small", byteCount: 5_000_000)

  private func owed(
    _ plan: Plan, _ from: Int64, _ to: Int64, _ reason: CapReason = .subscribed, by giver: Int = 0
  ) -> Schedule.Owed {
    Schedule.Owed(
      giver: giver, plan: plan, from: Instant(seconds: from), to: Instant(seconds: to),
      reason: reason)
  }

  private func reasons(_ schedule: Schedule) -> [String] {
    schedule.boundaries.map { "\($0.from) \($0.planID) \($0.reason.rawValue)" }
  }

  @Test func `an unknown account has the free plan for ever`() {
    #expect(reasons(.free(catalogue)) == ["always free never_subscribed"])
  }

  @Test func `a paid period ends by itself, and says why`() {
    let schedule = Schedule(
      owed: [owed(premium, 10, 20)],
      endings: [Schedule.Ending(at: Instant(seconds: 20), reason: .lapsed)], catalogue: catalogue)
    #expect(
      reasons(schedule) == [
        "always free never_subscribed", "1970-01-01T00:00:10Z premium subscribed",
        "1970-01-01T00:00:20Z free lapsed",
      ])
    #expect(schedule.entry(at: Instant(milliseconds: 19_999)).planID == "premium")
    #expect(schedule.entry(at: Instant(seconds: 20)).planID == "free")
  }

  @Test func `since when a cap is smaller than before is known until it grows`() {
    let ending = Schedule.Ending(at: Instant(seconds: 40), reason: .lapsed)
    let schedule = Schedule(
      owed: [
        owed(premium, 10, 20), owed(small, 20, 25, .leeway), owed(small, 25, 30),
        owed(premium, 30, 40),
      ], endings: [ending], catalogue: catalogue)
    #expect(schedule.shrunkSince.map { $0?.seconds } == [nil, nil, 20, 20, nil, 40])
    // An ending without anything that had raised the cap.
    let refunded = Schedule(
      owed: [], endings: [Schedule.Ending(at: Instant(seconds: 5), reason: .refunded)],
      catalogue: catalogue)
    #expect(refunded.shrunkSince.map { $0?.seconds } == [nil, 5])
  }

  @Test func `a cap that shrank without a boundary of its own has shrunk now, until it grows`() {
    let schedule = Schedule(
      owed: [owed(small, 10, 30), owed(premium, 30, 40)],
      endings: [Schedule.Ending(at: Instant(seconds: 40), reason: .lapsed)], catalogue: catalogue)
    func since(at second: Int64, _ heldByteCount: Int64, _ heldSince: Int64? = nil) -> [Int64?] {
      schedule.shrunkSince(
        at: Instant(seconds: second), heldByteCount: heldByteCount,
        heldSince: heldSince.map { Instant(seconds: $0) }
      ).map { $0?.seconds }
    }
    #expect(schedule.shrunkSince.map { $0?.seconds } == [nil, nil, nil, 40])
    #expect(since(at: 20, premium.byteCount) == [nil, 20, nil, 40])
    #expect(since(at: 20, premium.byteCount, 15) == [nil, 15, nil, 40])
    #expect(since(at: 20, small.byteCount, 15) == [nil, 15, nil, 40])
    #expect(since(at: 20, small.byteCount) == [nil, nil, nil, 40])
    #expect(since(at: 20, 1, 15) == [nil, nil, nil, 40])
  }

  @Test func `a cap that was set holds for its time, below and above what is owed`() {
    let set = [
      Schedule.Override(
        from: Instant(seconds: 5), to: Instant(seconds: 15), capByteCount: 7),
      Schedule.Override(
        from: Instant(seconds: 30), to: .distantFuture, capByteCount: .max),
    ]
    let schedule = Schedule(owed: [owed(premium, 10, 20)], endings: [], catalogue: catalogue)
      .overridden(by: set)
    #expect(
      reasons(schedule) == [
        "always free never_subscribed", "1970-01-01T00:00:05Z free quota_set",
        "1970-01-01T00:00:10Z premium quota_set", "1970-01-01T00:00:15Z premium subscribed",
        "1970-01-01T00:00:20Z free never_subscribed", "1970-01-01T00:00:30Z free quota_set",
      ])
    let caps = [0, 5, 12, 15, 20, 30].map { second in
      schedule.entry(at: Instant(seconds: second)).capByteCount
    }
    #expect(caps == [1_000_000, 7, 7, premium.byteCount, 1_000_000, .max])
  }

  @Test func `a cap that was set for no time at all changes nothing`() {
    let schedule = Schedule(owed: [owed(premium, 10, 20)], endings: [], catalogue: catalogue)
    let moment = Instant(seconds: 12)
    let none = Schedule.Override(from: moment, to: moment, capByteCount: 7)
    #expect(schedule.overridden(by: [none]) == schedule)
  }

  @Test func `an addition comes on top of the best plan, once for each that gives it`() {
    let extra = Plan(id: "extra", title: "Extra", byteCount: 100, isAddition: true)
    let schedule = Schedule(
      owed: [
        owed(premium, 0, 20), owed(small, 0, 20, by: 1), owed(extra, 10, 30, by: 2),
        owed(extra, 10, 25, by: 2), owed(extra, 15, 20, by: 3),
      ], endings: [], catalogue: catalogue)
    let caps = [5, 12, 16, 22, 40].map { second in
      schedule.entry(at: Instant(seconds: second)).capByteCount
    }
    #expect(
      caps == [30_000_000_000, 30_000_000_100, 30_000_000_200, 1_000_100, 1_000_000])
  }

  @Test func `the larger plan wins where two overlap, and the smaller returns after it`() {
    let schedule = Schedule(
      owed: [owed(small, 0, 100), owed(premium, 10, 20)], endings: [], catalogue: catalogue)
    #expect(schedule.boundaries.map(\.planID) == ["free", "small", "premium", "small", "free"])
  }

  @Test func `a plan never adds up with another`() {
    let schedule = Schedule(
      owed: [owed(small, 0, 10), owed(small, 0, 10)], endings: [], catalogue: catalogue)
    #expect(schedule.entry(at: Instant(seconds: 5)).capByteCount == small.byteCount)
  }

  @Test func `the newest ending explains the free plan`() {
    let schedule = Schedule(
      owed: [owed(premium, 0, 10), owed(premium, 30, 40)],
      endings: [
        Schedule.Ending(at: Instant(seconds: 10), reason: .paymentFailed),
        Schedule.Ending(at: Instant(seconds: 40), reason: .lapsed),
      ], catalogue: catalogue)
    #expect(schedule.entry(at: Instant(seconds: 20)).reason == .paymentFailed)
    #expect(schedule.entry(at: Instant(seconds: 50)).reason == .lapsed)
  }

  @Test(arguments: 1...50 as ClosedRange<UInt64>)
  func `the schedule is the best plan at every moment, in any order of its input`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let plans = [small, premium, catalogue.free]
    var intervals: [Schedule.Owed] = []
    for _ in 0..<Int.random(in: 0...8, using: &random) {
      let from = Int64.random(in: 0...30, using: &random)
      intervals.append(
        owed(
          plans.randomElement(using: &random)!, from,
          from + Int64.random(in: -2...20, using: &random),
          [.subscribed, .grace, .trial].randomElement(using: &random)!))
    }
    let schedule = Schedule(owed: intervals, endings: [], catalogue: catalogue)
    let shuffled = Schedule(
      owed: intervals.shuffled(using: &random), endings: [], catalogue: catalogue)
    #expect(schedule == shuffled, "seed \(seed)")
    for second in Int64(-1)...55 {
      let moment = Instant(seconds: second)
      let best = intervals.filter { $0.from <= moment && moment < $0.to }
        .map(\.plan.byteCount).max()
      #expect(
        schedule.entry(at: moment).capByteCount == best ?? catalogue.free.byteCount,
        "seed \(seed), second \(second)")
    }
  }
}
