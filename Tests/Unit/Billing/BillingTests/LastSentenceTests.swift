import Answers
import Billing
import KnownStores
import Ledger
import Storage
import StripeSamples
import TestEngines
import Testing
import Tiers

/// The sentence about what happened last: it names the cause, not the plan that is left.
struct LastSentenceTests {
  private static func plan(_ id: String, _ title: String, _ byteCount: Int64) -> Plan {
    Plan(
      id: id, title: title, byteCount: byteCount,
      products: [Plan.Product(provider: "stripe", id: "price_\(id)")])
  }

  private static func rules(premium: Int64 = 1000) throws -> LedgerRules {
    try LedgerRules(
      catalogue: Catalogue(
        version: "test \(premium)", free: Plan(id: "free", title: "Free", byteCount: 10),
        paid: [plan("premium", "Premium", premium), plan("plus", "Plus", 2000)]))
  }

  private func last(
    _ harness: Harness, _ customer: Customer, at now: Double, _ rules: LedgerRules
  ) throws -> String {
    try harness.database.read { reader in
      try EntitlementExplanation(
        of: customer.account, at: day(now), catalogue: rules.catalogue, stores: .known,
        reading: reader)
    }.sentences(usedByteCount: 0)[1]
  }

  /// A month of Premium that renews.
  private func paid(_ rules: LedgerRules) throws -> (Harness, Customer) {
    let harness = try Harness(.sqlite, rules: rules)
    try harness.service().applyRules()
    let customer = try harness.subscriber()
    return (harness, customer)
  }

  @Test func `where a plan that was given ends above one that is paid, that is told`() throws {
    let rules = try Self.rules()
    let (harness, customer) = try paid(rules)
    try harness.decide(
      .grant(customer.account, planID: "plus", from: day(0), until: day(20), note: "a friend"),
      at: day(1))
    #expect(
      try last(harness, customer, at: 21, rules) == "Last, on 2026-01-21 00:00 UTC, the plan that "
        + "we gave your account ended, and your account went from 2 kB (plan Plus) to 1 kB "
        + "(plan Premium).")
  }

  @Test func `where the larger of two plans ends, that is told`() throws {
    let rules = try Self.rules()
    let (harness, customer) = try paid(rules)
    let plus = Customer(tag: harness.tag + "b")
    try harness.post(plus.session(account: customer.account))
    let cancelled = plus.subscription("created", 0) {
      ($0.price, $0.to, $0.cancelAtPeriodEnd) = ("price_plus", day(20), true)
    }
    try harness.post(cancelled)
    try harness.post(plus.invoice(1, "paid", 0, to: 20) { $0.price = "price_plus" })
    #expect(
      try last(harness, customer, at: 21, rules) == "Last, on 2026-01-21 00:00 UTC, the larger "
        + "plan ended, and your account went from 2 kB (plan Plus) to 1 kB (plan Premium).")
  }

  @Test(arguments: [(500, "500 B"), (1500, "1.5 kB")] as [(Int64, String)])
  func `where the catalogue changes a plan, that is told`(
    byteCount: Int64, size: String
  ) throws {
    let (harness, customer) = try paid(try Self.rules())
    let changed = try Self.rules(premium: byteCount)
    harness.set(day(5))
    try harness.service(rules: changed).applyRules()
    #expect(
      try last(harness, customer, at: 6, changed) == "Last, on 2026-01-06 00:00 UTC, what the plan "
        + "holds was changed, and your account went from 1 kB (plan Premium) to \(size) (plan "
        + "Premium).")
  }

  @Test func `where a paid plan ends beneath the same that was given, that is told`() throws {
    let rules = try Self.rules()
    let (harness, customer) = try paid(rules)
    try harness.decide(
      .grant(customer.account, planID: "premium", from: day(0), until: nil, note: "a friend"),
      at: day(1))
    #expect(
      try last(harness, customer, at: 40, rules) == "Last, on 2026-01-31 00:00 UTC, the plan that "
        + "we gave your account began to count.")
  }

  @Test func `a payment that failed first and was heard of late is told with its amount`() throws {
    let rules = try Self.rules()
    let (harness, customer) = try paid(rules)
    try harness.post(customer.subscription("updated", 30) { $0.status = "past_due" })
    try harness.post(customer.invoice(2, "payment_failed", 30, from: 30, to: 60))
    try harness.post(customer.invoice(2, "paid", 31, from: 30, to: 60), at: day(33))
    #expect(
      try last(harness, customer, at: 34, rules) == "Last, on 2026-02-03 00:00 UTC, a payment of "
        + "2.99 USD was found to have come after all.")
  }

  @Test func `what changes beneath a size that was set is no change of it`() throws {
    let rules = try Self.rules()
    let (harness, customer) = try paid(rules)
    try harness.decide(
      .quota(customer.account, byteCount: 5000, until: nil, note: "a talk"), at: day(1))
    #expect(
      try last(harness, customer, at: 40, rules) == "Last, on 2026-02-01 02:00 UTC, the plan "
        + "below the size that we have set changed.")
  }

  @Test func `an account that was erased is told what came before`() throws {
    let rules = try Self.rules()
    let (harness, customer) = try paid(rules)
    try harness.erase(customer.account, at: day(5))
    try harness.decide(.accountDeleted(customer.account), at: day(5.1))
    #expect(
      try last(harness, customer, at: 6, rules) == "Last, on 2026-01-01 00:00 UTC, the period was "
        + "found paid, and your account went from 10 B (plan Free) to 1 kB (plan Premium).")
  }

  @Test func `that a renewal was switched off is told with the time of it`() throws {
    let rules = try Self.rules()
    let (harness, customer) = try paid(rules)
    let cancelled = customer.subscription("updated", 10) {
      ($0.cancelAtPeriodEnd, $0.canceledAt) = (true, day(10))
    }
    try harness.post(cancelled, at: day(12))
    #expect(
      try last(harness, customer, at: 13, rules)
        == "Last, on 2026-01-11 00:00 UTC, the renewal of the subscription was switched off.")
  }
}
