import Base
import BillingSimulation
import Flows
import Ledger
import ProviderFakes
import Storage
import Subscriptions
import Sync
import TestEngines
import Testing

/// What billing does of an account that is to be gone: its store bills no more, what is personal goes, and
/// the facts of its money stay.
struct LeavingAccountTests {
  private static let week = Instant.Span.days(7)

  /// An account that pays Stripe, of which everything was delivered.
  private func paying(_ engine: TestEngine = .sqlite) throws -> (BuyingShop, String) {
    let shop = try BuyingShop(engine)
    shop.delivers = true
    try shop.begin()
    let id = shop.stripe.buy(account: shop.account)
    try shop.pass(.minutes(30))
    return (shop, id)
  }

  private func ask(_ shop: BuyingShop) throws {
    let (account, now) = (shop.account, shop.installation.now)
    try shop.inSync { transaction in
      try transaction.execute(
        """
        INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms)
        VALUES ($1, $1, 0, 0, 0) ON CONFLICT (id) DO NOTHING
        """, .id(account))
      _ = try AccountDeletion.ask(
        for: account, erasing: now + Self.week, at: now, in: transaction)
    }
  }

  /// As coffer-sync does when it begins.
  private func beginErasing(_ shop: BuyingShop) throws {
    let (account, now) = (shop.account, shop.installation.now)
    try shop.inSync { transaction in
      try transaction.execute(
        "UPDATE sync.account_deletions SET begun_ms = $2 WHERE account_id = $1", .id(account),
        .instant(now))
    }
  }

  private func bodies(_ shop: BuyingShop) throws -> Int64 {
    try shop.installation.count("SELECT count(*) FROM billing.deliveries WHERE length(sealed) > 0")
  }

  @Test(arguments: TestEngine.available)
  func `its store is told at once, and what was delivered is erased when its time has come`(
    engine: TestEngine
  ) throws {
    let (shop, id) = try paying(engine)
    #expect(try bodies(shop) > 0)
    try ask(shop)
    try shop.pass(.hours(1))
    #expect(shop.stripe.isCancelling(id))
    #expect(try bodies(shop) > 0)
    try shop.pass(Self.week)
    try beginErasing(shop)
    try shop.pass(.hours(1))
    #expect(try bodies(shop) == 0)
    #expect(try shop.installation.digest().contains { $0.contains("of nobody") })
    let left =
      try shop.installation.count(
        "SELECT count(*) FROM billing.customers")
      + shop.installation.count(
        "SELECT count(*) FROM billing.notices")
      + shop.installation.count(
        "SELECT count(*) FROM billing.search_terms")
    #expect(left == 0)
    // What the law wants of the money stays.
    #expect(try shop.installation.count("SELECT count(*) FROM billing.mirrors") > 0)
    #expect(try shop.installation.drift().isEmpty)
  }

  @Test func `what its store tells later is taken, keeps no body, and wants nobody's attention`()
    throws
  {
    let (shop, id) = try paying()
    try ask(shop)
    try shop.pass(Self.week)
    try beginErasing(shop)
    try shop.pass(.hours(1))
    let before = try shop.installation.count("SELECT count(*) FROM billing.deliveries")
    _ = id
    try shop.pass(.days(40))
    #expect(try shop.installation.count("SELECT count(*) FROM billing.deliveries") > before)
    #expect(try bodies(shop) == 0)
    #expect(try shop.installation.attention().isEmpty)
  }

  @Test func `who stays after all loses nothing but the renewal`() throws {
    let (shop, id) = try paying()
    try ask(shop)
    try shop.pass(.hours(1))
    let account = shop.account
    try shop.inSync { _ = try AccountDeletion.cancel(account, in: $0) }
    try shop.pass(.days(8))
    #expect(try bodies(shop) > 0)
    #expect(shop.stripe.isCancelling(id))
    #expect(try shop.installation.count("SELECT count(*) FROM billing.account_deletions") == 0)
    #expect(try shop.installation.digest().contains { $0.contains("of \(account)") })
  }

  @Test func `a store that never answers holds the erasure up for three days, and no longer`()
    throws
  {
    let (shop, _) = try paying()
    try ask(shop)
    for call in shop.way.callCount..<(shop.way.callCount + 5000) {
      shop.way.plan(.unreachable, atCall: call)
    }
    try shop.pass(Self.week)
    try beginErasing(shop)
    try shop.pass(.hours(1))
    #expect(try bodies(shop) == 0)
  }

  @Test func `a process that dies at any step goes on`() throws {
    let (shop, id) = try paying()
    try ask(shop)
    for _ in 0..<40 {
      try shop.pass(.minutes(10))
      try shop.installation.crash()
      try shop.begin()
    }
    #expect(shop.stripe.isCancelling(id))
    try shop.pass(Self.week)
    try beginErasing(shop)
    for _ in 0..<20 {
      _ = try shop.installation.beginReads()
      try shop.installation.crash()
      try shop.pass(.minutes(10))
    }
    #expect(try bodies(shop) == 0)
  }
}

extension BuyingShop {
  fileprivate func begin() throws { try installation.beginRounds() }

  fileprivate func inSync(_ body: @escaping @Sendable (Transaction) throws -> Void) throws {
    let database = try Database.open(installation.location, owning: .sync)
    defer { database.close() }
    try database.write(for: nil, body)
  }
}
