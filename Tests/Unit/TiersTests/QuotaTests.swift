import Testing
import Tiers

struct QuotaTests {
  @Test func `a write up to exactly the cap is admitted`() {
    #expect(Quota.admission(usage: 90, delta: 10, cap: 100) == .admitted)
  }

  @Test func `one byte more is refused and says what it needs`() {
    #expect(Quota.admission(usage: 90, delta: 11, cap: 100) == .exceeded(needed: 101))
  }

  @Test(arguments: [0, -1, -1000] as [Int64])
  func `a write that does not grow is admitted above any cap`(delta: Int64) {
    #expect(Quota.admission(usage: 5000, delta: delta, cap: 100) == .admitted)
  }

  @Test func `a sum beyond 64 bits is refused, not wrapped`() {
    #expect(Quota.admission(usage: .max, delta: 1, cap: .max - 1) == .exceeded(needed: .max))
  }
}
