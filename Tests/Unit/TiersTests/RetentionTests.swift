import Base
import SeededRandom
import Testing
import Tiers

/// For how long things are kept while plans come and go, day by day.
struct RetentionTests {
  private let start = Instant(seconds: 1_780_000_000)
  private let plans: [Plan.Limits] = [
    Plan.Limits(), Plan.Limits(historyDays: 3, historyVersionCount: 2, trashDays: 9),
    Plan.Limits(historyDays: 12, trashDays: 1),
    Plan.Limits(historyDays: 6, historyVersionCount: 5),
    Plan.Limits(historyDays: 6, historyVersionCount: 0, trashDays: 0),
  ]

  private func day(_ number: Int) -> Instant { start + .days(Int64(number)) }

  /// The retention on a day, if `held` has the plan of each day up to it.
  private func retention(_ held: ArraySlice<Int>, formerDays: Int) -> Retention {
    let steps = held.indices.reversed().map { number in
      Retention.Step(
        limits: plans[held[number]],
        end: number == held.endIndex - 1 ? .distantFuture : day(number + 1))
    }
    return Retention(steps, formerSpan: .days(Int64(formerDays)))
  }

  /// A thing is kept if a plan that was had since, and not too long ago, keeps things of this age.
  @Test func `a thing is kept exactly as long as a plan says that counts`() {
    let seed = SeededGenerator.seed(of: "retention")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<40 {
      let formerDays = Int.random(in: 0...8, using: &random)
      var held: [Int] = []
      while held.count < 40 {
        let plan = Int.random(in: 0..<plans.count, using: &random)
        held += Array(repeating: plan, count: Int.random(in: 1...9, using: &random))
      }
      let today = Int.random(in: 20..<40, using: &random)
      let retention = retention(held[...today], formerDays: formerDays)
      for then in 0...today {
        let counting = (max(then, today - formerDays)...today).map { plans[held[$0]] }
        let age = Int64(today - then)
        #expect(
          (day(today) < retention.end(ofReplaced: day(then)))
            == counting.contains { ($0.historyVersionCount != 0 ? $0.historyDays ?? 0 : 0) > age },
          "seed \(seed)")
        #expect(
          (day(today) < retention.end(ofDeleted: day(then)))
            == counting.contains { $0.trashDays ?? 0 > age }, "seed \(seed)")
        let counts = counting.map { $0.historyDays == nil ? 0 : $0.historyVersionCount ?? .max }
        #expect(
          retention.versionCountMax(replaced: day(then), at: day(today)) ?? .max == counts.max(),
          "seed \(seed)")
      }
      for era in retention.eras {
        let ends = (0...today).map(day).filter(era.contains)
          .map { (retention.end(ofReplaced: $0), retention.end(ofDeleted: $0)) }
        #expect(zip(ends, ends.dropFirst()).allSatisfy { $0.0 <= $1.0 && $0.1 <= $1.1 })
      }
    }
  }

  @Test func `no plan ends later than the one after it, even if the clock was set back`() {
    let steps: [Retention.Step] = [
      .init(limits: plans[1], end: .distantFuture), .init(limits: plans[2], end: day(4)),
      .init(limits: plans[3], end: day(9)),
    ]
    let retention = Retention(steps, formerSpan: .days(3))
    #expect(retention.eras.map(\.lowerBound) == [.distantPast, day(9), day(9)])
    // Under the plan that ended on day 9, which keeps it for six days.
    #expect(retention.end(ofReplaced: day(6)) == day(12))
  }

  @Test func `a plan counts under the limits that its catalogue gave it`() throws {
    func catalogue(_ version: String, historyDays: Int64?) throws -> Catalogue {
      let kept = historyDays.map {
        [Plan(id: "kept", title: "Kept", byteCount: 2, limits: .init(historyDays: $0))]
      }
      return try Catalogue(
        version: version, free: Plan(id: "free", title: "Free", byteCount: 1), paid: kept ?? [])
    }
    let former = [
      Catalogue.Former(try catalogue("2", historyDays: 20), end: day(20)),
      Catalogue.Former(try catalogue("1", historyDays: 10), end: day(10)),
    ]
    func days(_ steps: [Retention.Step]) -> [Int64?] { steps.map(\.limits.historyDays) }
    let smaller = try catalogue("3", historyDays: 5).following(former)
    let all = smaller.limits(of: "kept", from: .distantPast, to: .distantFuture)
    #expect(days(all) == [5, 20, 10])
    #expect(days(smaller.limits(of: "kept", from: day(12), to: day(20))) == [20])
    #expect(smaller.limits(of: "kept", from: day(5), to: day(15)).map(\.end) == [day(15), day(10)])
    #expect(days(smaller.limits(of: nil, from: day(15), to: .distantFuture)) == [nil, nil])
    let without = try catalogue("3", historyDays: nil).following(former)
    #expect(without.limits(of: "kept").historyDays == 20)
    #expect(days(without.limits(of: "kept", from: day(15), to: .distantFuture)) == [20, 20])
  }
}
