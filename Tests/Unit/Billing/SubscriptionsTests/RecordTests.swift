import Google
import SeededRandom
import StoreFacts
import Subscriptions
import Testing

/// Rules for the records of every store.
struct RecordTests {
  private typealias F = StoreFacts

  @Test func `a renewal that was merely not seen is told as such, not as a failed payment`() {
    let apple = [F.transaction("t0", 0, 30), F.renewal(1)]
    let google = [F.purchase(.active, 0, 30)]
    for (key, facts) in [(F.appleKey, apple), (F.googleKey, google)] {
      #expect(F.label(key, facts, day: 31) == .active)
      #expect(F.label(key, facts, day: 32).rawValue == "renewal_pending")
    }
  }

  @Test(arguments: [true, false])
  func `order and repetition cannot matter`(isApple: Bool) {
    let key = isApple ? F.appleKey : F.googleKey
    let seed = SeededGenerator.seed(of: "stores' facts")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      let facts = (0..<8).map { _ in
        isApple ? F.anyApple(&random) : F.anyGoogle(&random)
      }
      func part(_ indices: [Int]) -> Subscription {
        var subscription = F.empty(key)
        for index in indices { subscription.insert(facts[index], delivery: Int64(index)) }
        return subscription
      }
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
