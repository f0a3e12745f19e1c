import Answers
import Base
import Crypto
import Storage
import StripeSamples
import TestEngines
import Testing
import Tiers

/// The history of what was granted never changes, whatever is learnt about that time later.
struct HistoryTests {
  private func held(_ harness: Harness, _ account: Identifier) throws -> [String] {
    try harness.explanation(account, at: day(100)).held.map {
      "\($0.from) \($0.to) \($0.planID) \($0.reason.rawValue)"
    }
  }

  private func remaining(_ harness: Harness, _ account: Identifier) throws -> [String] {
    try harness.explanation(account, at: day(100)).remaining.map {
      "\($0.from) \($0.planID) \($0.reason.rawValue)"
    }
  }

  @Test(arguments: TestEngine.available)
  func `a payment that is told late gave nothing before it was told`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    try harness.post(customer.session(), at: day(5))
    try harness.post(customer.invoice(1, "paid", 0), at: day(5))
    #expect(
      try held(harness, customer.account) == ["always \(day(5)) free never_subscribed"])
    #expect(
      try remaining(harness, customer.account) == [
        "\(day(5)) premium subscribed", "\(day(30)) free lapsed",
      ])
  }

  @Test(arguments: TestEngine.available)
  func `a subscription that ended before it was told held until it was told`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let customer = try harness.payer()
    let deleted = customer.subscription("deleted", 10) {
      $0.status = "canceled"
      $0.endedAt = day(10)
    }
    try harness.post(deleted, at: day(12))
    #expect(
      try held(harness, customer.account) == [
        "always \(day(0)) free never_subscribed", "\(day(0)) \(day(12)) premium subscribed",
      ])
    #expect(try remaining(harness, customer.account) == ["\(day(12)) free lapsed"])
  }

  @Test(arguments: TestEngine.available)
  func `paid months stay told though their subscription goes to another account`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    let heir = Random.identifier()
    try harness.post(customer.session())
    try harness.post(customer.invoice(1, "paid", 0))
    try harness.post(customer.subscription("updated", 3) { $0.account = heir.description })
    #expect(
      try held(harness, customer.account).last == "\(day(0)) \(day(3)) premium subscribed")
    let current = try harness.explanation(customer.account, at: day(4)).current
    #expect(current.reason == .lapsed)
    #expect(try held(harness, heir) == ["always \(day(3)) free never_subscribed"])
  }

  @Test(arguments: TestEngine.available)
  func `what is told of the future leaves the past alone`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = try harness.payer()
    let before = try held(harness, customer.account)
    try harness.post(
      customer.subscription("updated", 5) { $0.cancelAtPeriodEnd = true })
    try harness.post(customer.subscription("updated", 6))
    #expect(try held(harness, customer.account) == before)
  }

  @Test(arguments: TestEngine.available)
  func `a renewal adds what held since the last one, and touches nothing older`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let customer = try harness.subscriber()
    // The time before the first payment is recorded with the first month.
    try harness.post(customer.invoice(2, "paid", 30.5, from: 30, to: 60))
    var rows = try held(harness, customer.account)
    for month in 2...12 {
      let start = Double(month * 30)
      try harness.post(
        customer.invoice(month + 1, "paid", start + 0.5, from: start, to: start + 30))
      let now = try held(harness, customer.account)
      #expect(Array(now.prefix(rows.count)) == rows)
      #expect(now.count - rows.count == 2)
      rows = now
    }
  }

  @Test(arguments: TestEngine.available)
  func `an account from before history was kept tells what its schedule did`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let customer = try harness.payer()
    try harness.database.write(for: nil) { transaction in
      _ = try transaction.execute("DELETE FROM billing.held")
    }
    let heir = Random.identifier()
    try harness.post(customer.subscription("updated", 3) { $0.account = heir.description })
    #expect(
      try held(harness, customer.account) == [
        "always \(day(0)) free never_subscribed", "\(day(0)) \(day(3)) premium subscribed",
      ])
  }

  /// The second month's payment fails, and succeeds on day `paid`.
  private func transitionsOfLatePayment(_ paid: Double) throws -> [String] {
    let harness = try Harness(.sqlite)
    let customer = try harness.subscriber()
    try harness.post(customer.invoice(2, "payment_failed", 30, from: 30, to: 60))
    try harness.post(customer.invoice(2, "paid", paid, from: 30, to: 60))
    let subscription = try #require(
      harness.explanation(customer.account, at: day(50)).subscriptions.first)
    return subscription.transitions.reversed().dropFirst(3).map {
      "\($0.before) \($0.after) \($0.at) \($0.noticed)"
    }
  }

  @Test func `a payment that was repaired is no older than what went wrong without it`() throws {
    #expect(
      try transitionsOfLatePayment(33) == [
        "active grace \(day(30)) \(day(30))", "grace active \(day(30)) \(day(33))",
      ])
    #expect(
      try transitionsOfLatePayment(40) == [
        "active grace \(day(30)) \(day(30))", "grace on_hold \(day(37)) \(day(40))",
        "on_hold active \(day(37)) \(day(40))",
      ])
  }

  @Test(arguments: TestEngine.available)
  func `edges of the clock bear the moments at which they came true`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = try harness.subscriber()
    try harness.post(customer.invoice(2, "payment_failed", 30, from: 30, to: 60))
    try harness.post(
      customer.subscription("deleted", 50) {
        $0.status = "canceled"
        $0.endedAt = day(50)
      })
    let subscription = try #require(
      harness.explanation(customer.account, at: day(51)).subscriptions.first)
    #expect(
      subscription.transitions.filter { $0.cause != "owner" }.reversed().map {
        "\($0.at) \($0.before) \($0.after)"
      } == [
        "\(day(0)) none pending", "\(day(0)) pending active", "\(day(30)) active grace",
        "\(day(37)) grace on_hold", "\(day(50)) on_hold expired",
      ])
  }
}
