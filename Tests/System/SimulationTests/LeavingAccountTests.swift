import Base
import BillingSimulation
import Flows
import Ledger
import ProviderFakes
import TestEngines
import Testing

/// Billing's part in an account's deletion: its store stops billing, personal data is erased, and the facts
/// about its money stay.
struct LeavingAccountTests {
  private static let week = Instant.Span.days(7)

  /// An account that pays Stripe, and for which everything was delivered.
  private func paying(_ engine: TestEngine = .sqlite) throws -> (BuyingShop, String) {
    let shop = try BuyingShop(engine)
    shop.delivers = true
    try shop.installation.beginRounds()
    let id = shop.stripe.buy(account: shop.account)
    try shop.pass(.minutes(30))
    return (shop, id)
  }

  @Test(arguments: TestEngine.available)
  func `its store is told at once, and what was delivered is erased when its time has come`(
    engine: TestEngine
  ) throws {
    let (shop, id) = try paying(engine)
    #expect(try !shop.keptBodies.isEmpty)
    try shop.askForEnd()
    try shop.pass(.hours(1))
    #expect(shop.stripe.isCancelling(id))
    #expect(try !shop.keptBodies.isEmpty)
    try shop.pass(Self.week)
    try shop.beginErasing()
    try shop.pass(.hours(1))
    #expect(try shop.keptBodies.isEmpty)
    #expect(try shop.installation.digest().contains { $0.contains("of nobody") })
    let left =
      try shop.installation.count(
        "SELECT count(*) FROM billing.customers")
      + shop.installation.count(
        "SELECT count(*) FROM billing.notices")
      + shop.installation.count(
        "SELECT count(*) FROM billing.search_terms")
    #expect(left == 0)
    // The facts about money that the law requires stay.
    #expect(try shop.installation.count("SELECT count(*) FROM billing.mirrors") > 0)
    #expect(try shop.installation.drift().isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `who is erased before billing looks is erased here, too, and its store told`(
    engine: TestEngine
  ) throws {
    let (shop, id) = try paying(engine)
    try shop.eraseAtOnce()
    try shop.pass(.hours(1))
    #expect(shop.stripe.isCancelling(id))
    try shop.pass(.days(1))
    #expect(try shop.isErased)
    #expect(try shop.keptBodies.isEmpty)
    #expect(try shop.installation.digest().contains { $0.contains("of nobody") })
    #expect(try shop.unheardCount == 0)
    #expect(try shop.installation.drift().isEmpty)
  }

  @Test func `what was erased long before the last that billing heard of is not looked through`()
    throws
  {
    let (shop, _) = try paying()
    try shop.eraseAtOnce()
    for days: Int64 in [6, 8] { try shop.eraseUnheard(daysAgo: days) }
    #expect(try shop.unheardCount == 3)
    try shop.pass(.hours(1))
    for days: Int64 in [6, 8] { try shop.eraseUnheard(daysAgo: days) }
    #expect(try shop.unheardCount == 1)
  }

  @Test func `what its store tells later is taken, keeps no body, and wants nobody's attention`()
    throws
  {
    let (shop, id) = try paying()
    try shop.askForEnd()
    try shop.pass(Self.week)
    try shop.beginErasing()
    try shop.pass(.hours(1))
    let before = try shop.installation.count("SELECT count(*) FROM billing.deliveries")
    _ = id
    try shop.pass(.days(40))
    #expect(try shop.installation.count("SELECT count(*) FROM billing.deliveries") > before)
    #expect(try shop.keptBodies.isEmpty)
    #expect(try shop.installation.attention().isEmpty)
  }

  @Test func `who stays after all loses nothing but the renewal`() throws {
    let (shop, id) = try paying()
    try shop.askForEnd()
    try shop.pass(.hours(1))
    try shop.stay()
    try shop.pass(.days(8))
    #expect(try !shop.keptBodies.isEmpty)
    #expect(shop.stripe.isCancelling(id))
    #expect(try shop.installation.count("SELECT count(*) FROM billing.account_deletions") == 0)
    #expect(try shop.installation.digest().contains { $0.contains("of \(shop.account)") })
  }

  @Test func `who would pay less from the next month on pays nothing from then on`() throws {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    try shop.installation.beginRounds()
    for wish in [Intention.subscribe("pm_card_visa", plan: "plus"), .change(to: "premium")] {
      let flow = try shop.finish(try shop.ask(wish).id)
      try #require(flow.status == .done)
    }
    let id = try #require(shop.current.first)
    try shop.askForEnd()
    try shop.pass(.hours(6))
    #expect(shop.stripe.isCancelling(id))
    try shop.pass(.days(40))
    #expect(shop.stripe.chargeCount == 1)
  }

  @Test func `what would end months later ends with the period of who leaves`() throws {
    let (shop, id) = try paying()
    shop.stripe.cancel(id, on: shop.installation.now + .days(100))
    try shop.pass(.minutes(30))
    try shop.askForEnd()
    try shop.pass(.hours(1))
    #expect(shop.stripe.isCancelling(id))
  }

  @Test(arguments: [false, true])
  func `who owes for a month owes nothing more, though the card works again`(
    hadCancelled: Bool
  ) throws {
    let (shop, id) = try paying()
    shop.stripe.setCard(of: id, .declines)
    try shop.pass(.days(32))
    try #require(shop.stripe.status(of: id) == "past_due")
    if hadCancelled { shop.stripe.cancel(id) }
    try shop.pass(.hours(1))
    try shop.askForEnd()
    try shop.pass(.hours(1))
    shop.stripe.setCard(of: id, .works)
    try shop.pass(.days(60))
    #expect(shop.stripe.chargeCount == 1)
    #expect(shop.current.isEmpty)
  }

  @Test func `who stays, has Stripe bill again, and asks again is billed no more`() throws {
    let (shop, id) = try paying()
    try shop.askForEnd()
    try shop.pass(.hours(1))
    try shop.stay()
    let flow = try shop.finish(try shop.ask(Intention(.uncancel)).id)
    try #require(flow.status == .done && !shop.stripe.isCancelling(id))
    try shop.askForEnd()
    try shop.pass(.hours(1))
    #expect(shop.stripe.isCancelling(id))
    try shop.pass(Self.week)
    try shop.beginErasing()
    try shop.pass(.hours(6))
    #expect(try shop.isErased)
  }

  @Test func `what comes to the account while it waits is billed no more, either`() throws {
    let (shop, _) = try paying()
    try shop.askForEnd()
    try shop.pass(.hours(1))
    let late = shop.stripe.buy(account: shop.account)
    try shop.pass(.days(2))
    #expect(shop.stripe.isCancelling(late))
  }

  @Test func `what comes to the account in its last hour is billed no more, either`() throws {
    let (shop, _) = try paying()
    try shop.askForEnd()
    try shop.pass(.minutes(7 * 24 * 60 - 90))
    let late = shop.stripe.buy(account: shop.account)
    try shop.pass(.minutes(90))
    try shop.beginErasing()
    try shop.pass(.hours(6))
    #expect(shop.stripe.isCancelling(late))
    #expect(try shop.isErased)
  }

  @Test func `a store that never answers holds the erasure up for three days, and no longer`()
    throws
  {
    let (shop, _) = try paying()
    try shop.askForEnd()
    for call in shop.way.callCount..<(shop.way.callCount + 5000) {
      shop.way.plan(.unreachable, atCall: call)
    }
    try shop.pass(Self.week)
    try shop.beginErasing()
    try shop.pass(.hours(6))
    #expect(try shop.keptBodies.isEmpty)
  }

  @Test func `a process that dies at any step goes on`() throws {
    let (shop, id) = try paying()
    try shop.askForEnd()
    for _ in 0..<40 {
      try shop.pass(.minutes(10))
      try shop.installation.crash()
      try shop.installation.beginRounds()
    }
    #expect(shop.stripe.isCancelling(id))
    try shop.pass(Self.week)
    try shop.beginErasing()
    for _ in 0..<20 {
      _ = try shop.installation.beginReads()
      try shop.installation.crash()
      try shop.pass(.minutes(10))
    }
    #expect(try shop.keptBodies.isEmpty)
  }
}
