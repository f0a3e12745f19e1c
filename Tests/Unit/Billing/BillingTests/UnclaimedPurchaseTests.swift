import Base
import Jobs
import Storage
import TestEngines
import Testing

/// An unclaimed purchase at Google Play that waits for its claim: it costs next to nothing.
struct UnclaimedPurchaseTests {
  @Test(arguments: TestEngine.available)
  func `is asked about at 24, 48 and 60 hours and not in between`(engine: TestEngine) throws {
    let shop = try PlayShop(engine)
    shop.play.sell("unclaimed", at: shop.now)
    #expect(try shop.push("unclaimed", 4) == 200)
    let bought = shop.now
    var runs: [Int64: Int] = [:]
    for minute in 0..<(75 * 6) {
      shop.now = bought + .minutes(Int64(minute) * 10)
      // As often as a runner looks again after it found something due.
      for _ in 0..<5 {
        guard try shop.runDue() > 0 else { break }
        runs[Int64(minute) / 6, default: 0] += 1
      }
    }
    #expect(runs[24] == 1 && runs[48] == 1 && runs[60] == 1)
    #expect(runs.filter { $0.key > 0 }.values.reduce(0, +) == 3)
  }

  @Test func `is no job that is late`() throws {
    let shop = try PlayShop()
    shop.play.sell("unclaimed", at: shop.now)
    #expect(try shop.push("unclaimed", 4) == 200)
    for _ in 0..<(30 * 60) {
      shop.now = shop.now + .minutes(1)
      try shop.runDue()
    }
    let now = shop.now
    let counts = try shop.database.read { try Jobs.counts($0) }
    #expect(counts.allSatisfy { $0.unsettledSince.map { now < $0 } ?? true })
  }
}
