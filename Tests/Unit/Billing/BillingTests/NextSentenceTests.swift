import Answers
import KnownStores
import Ledger
import Storage
import StripeSamples
import TestEngines
import Testing
import Tiers

/// The sentence about what comes next for an account.
struct NextSentenceTests {
  private func next(_ harness: Harness, _ customer: Customer, at now: Double) throws -> String {
    try harness.explanation(customer.account, at: day(now)).sentences(usedByteCount: 0)[2]
  }

  @Test func `of a renewal that nobody has reported it is told that it should be`() throws {
    let harness = try Harness(.sqlite)
    let customer = try harness.subscriber()
    let sentences = try harness.explanation(customer.account, at: day(40))
      .sentences(usedByteCount: 0)
    #expect(sentences[0].hasSuffix("because the plan has ended, until its payment is reported."))
    #expect(
      sentences[2] == "Next, the payment for the next period has to be reported; until then "
        + "nothing changes by itself.")
  }

  @Test func `what renews beneath a plan that was given is told`() throws {
    let harness = try Harness(.sqlite)
    let customer = try harness.subscriber()
    try harness.decide(
      .grant(customer.account, planID: "premium", from: day(0), until: nil, note: "a friend"),
      at: day(1))
    #expect(
      try next(harness, customer, at: 2) == "Next, the subscription renews on 2026-01-31 00:00 "
        + "UTC, which changes nothing of what your account may store.")
  }

  @Test func `what renews before the end of a plan that was given is told`() throws {
    let harness = try Harness(.sqlite)
    let customer = try harness.subscriber()
    try harness.decide(
      .grant(customer.account, planID: "premium", from: day(0), until: day(50), note: "a friend"),
      at: day(1))
    #expect(
      try next(harness, customer, at: 2) == "Next, the subscription renews on 2026-01-31 00:00 "
        + "UTC; if no payment comes, your account may store 10 B (plan Free) from 2026-02-20 00:00 "
        + "UTC on.")
  }

  @Test func `what has a schedule at its store renews as that says`() throws {
    let harness = try Harness(.sqlite)
    let customer = Customer(tag: harness.tag)
    try harness.post(customer.session())
    try harness.post(customer.subscription("created", 0) { $0.schedule = "sub_sched_1" })
    try harness.post(customer.invoice(1, "paid", 0))
    #expect(
      try next(harness, customer, at: 2) == "Next, the subscription renews on 2026-01-31 00:00 UTC "
        + "as its schedule at Stripe says; if no payment comes, your account may store 10 B (plan "
        + "Free) from 2026-02-01 02:00 UTC on.")
  }

  private static func plan(_ id: String, _ title: String, _ byteCount: Int64) -> Plan {
    Plan(
      id: id, title: title, byteCount: byteCount,
      products: [Plan.Product(provider: "stripe", id: "price_\(id)")])
  }

  private static func twoPlans() throws -> LedgerRules {
    try LedgerRules(
      catalogue: Catalogue(
        version: "test", free: Plan(id: "free", title: "Free", byteCount: 10),
        paid: [plan("premium", "Premium", 1000), plan("plus", "Plus", 2000)]))
  }

  /// The sentences for a month of Premium that renews on the thirtieth day, with the larger plan that `above`
  /// gives.
  private func sentences(
    at now: Double, _ above: (Harness, Customer) throws -> Void
  ) throws -> [String] {
    let rules = try Self.twoPlans()
    let harness = try Harness(.sqlite, rules: rules)
    let customer = try harness.subscriber()
    try above(harness, customer)
    return try harness.database.read { reader in
      try EntitlementExplanation(
        of: customer.account, at: day(now), catalogue: rules.catalogue, stores: .known,
        reading: reader)
    }.sentences(usedByteCount: 0)
  }

  /// Buys Plus until `end`, cancelled.
  private func buyPlus(until end: Double, _ harness: Harness, _ customer: Customer) throws {
    let plus = Customer(tag: harness.tag + "b")
    try harness.post(plus.session(account: customer.account))
    let cancelled = plus.subscription("created", 0) {
      ($0.price, $0.to, $0.cancelAtPeriodEnd) = ("price_plus", day(end), true)
    }
    try harness.post(cancelled)
    try harness.post(plus.invoice(1, "paid", 0, to: end) { $0.price = "price_plus" })
  }

  @Test func `the end of a plan that was given is told with what renews beneath it`() throws {
    let sentences = try sentences(at: 2) { harness, customer in
      try harness.decide(
        .grant(customer.account, planID: "plus", from: day(0), until: day(50), note: "a friend"),
        at: day(1))
    }
    #expect(
      sentences[2] == "Next, from 2026-02-20 00:00 UTC on your account may store 1 kB (plan "
        + "Premium) if the subscription renews, next on 2026-01-31 00:00 UTC, else 10 B (plan Free)."
    )
  }

  @Test func `the end of a larger plan is told with what renews beneath it`() throws {
    let sentences = try sentences(at: 2) { try buyPlus(until: 40, $0, $1) }
    #expect(
      sentences[2] == "Next, from 2026-02-10 00:00 UTC on your account may store 1 kB (plan "
        + "Premium) if the subscription renews, next on 2026-01-31 00:00 UTC, else 10 B (plan Free)."
    )
  }

  @Test func `a size that was set without an end holds until we change it`() throws {
    let sentences = try sentences(at: 2) { harness, customer in
      try harness.decide(
        .quota(customer.account, byteCount: 5000, until: nil, note: "a talk"), at: day(1))
    }
    #expect(
      sentences[0]
        == "Your account may store 5 kB (plan Premium) because we set that size for it, until we "
        + "change it.")
    #expect(
      sentences[2] == "Next, the subscription renews on 2026-01-31 00:00 UTC, which changes "
        + "nothing of what your account may store.")
  }

  @Test func `the end of a size that was set is told with what renews before it`() throws {
    let sentences = try sentences(at: 2) { harness, customer in
      try harness.decide(
        .quota(customer.account, byteCount: 5000, until: day(50), note: "a talk"), at: day(1))
    }
    #expect(sentences[0].hasSuffix("because we set that size for it, until 2026-02-20 00:00 UTC."))
    #expect(
      sentences[2] == "Next, from 2026-02-20 00:00 UTC on your account may store 1 kB (plan "
        + "Premium) if the subscription renews, next on 2026-01-31 00:00 UTC, else 10 B (plan Free)."
    )
  }

  @Test func `the end of one plan is not told as the renewal of another`() throws {
    let sentences = try sentences(at: 1) { try buyPlus(until: 20, $0, $1) }
    #expect(
      sentences[2] == "Next, your account may store 1 kB (plan Premium) from 2026-01-21 00:00 UTC "
        + "on, unless something is bought before.")
  }

  // MARK: accounts that leave

  /// An account that paid for a month and will be erased on the eleventh day; nil: once it is exported.
  private func leaving(erasing moment: Double? = 10) throws -> (Harness, Customer) {
    let harness = try Harness(.sqlite)
    let customer = try harness.subscriber()
    try harness.leave(customer.account, at: day(3), erasing: moment.map { day($0) })
    return (harness, customer)
  }

  @Test func `an account that leaves is told that it is erased`() throws {
    let (harness, customer) = try leaving()
    #expect(
      try next(harness, customer, at: 4) == "Next, the account is erased on 2026-01-11 00:00 UTC, "
        + "unless the deletion is cancelled before.")
    #expect(
      try next(harness, customer, at: 11)
        == "Next, the account is erased, which has been due since 2026-01-11 00:00 UTC.")
  }

  @Test func `an account that leaves once it is exported is told that`() throws {
    let (harness, customer) = try leaving(erasing: nil)
    #expect(
      try next(harness, customer, at: 4) == "Next, the account has to be exported, and is erased "
        + "after that, unless the deletion is cancelled before.")
  }

  @Test func `of a time behind its erasure an account is told that it is erased by then`() throws {
    let (harness, customer) = try leaving()
    func explanation(about moment: Double) throws -> EntitlementExplanation {
      try harness.explanation(customer.account, at: day(4), about: day(moment))
    }
    #expect(try !explanation(about: 9).isErasedThen)
    let erased = try explanation(about: 10)
    #expect(erased.isErasedThen)
    #expect(
      erased.sentences(usedByteCount: 0)[0]
        == "If nothing changes, the account is erased by then.")
  }
}
