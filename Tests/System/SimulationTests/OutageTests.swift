import Base
import BillingSimulation
import Ledger
import ProviderFakes
import Testing

/// Google keeps pushes for seven days: older changes are only found by reads.
struct OutageTests {
  @Test(arguments: [12, 60] as [Int64])
  func `who renewed during an outage of ours has what they pay for once it is over`(
    days: Int64
  ) throws {
    let shop = try Self.shopBeforeRenewal().shop
    shop.beAway(.days(days))
    try shop.pass(.minutes(20))
    #expect(try shop.cap == Self.premium)
  }

  @Test(arguments: [12, 60] as [Int64])
  func `the first run after an outage finds who took a cancellation back`(days: Int64) throws {
    let (shop, token) = try Self.shopBeforeRenewal()
    try shop.cancel(token)
    shop.store.restore(token)
    shop.beAway(.days(days))
    try shop.pass(.minutes(20))
    #expect(try shop.cap == Self.free)
    try shop.reconcile()
    #expect(try shop.cap == Self.premium)
  }

  @Test func `the first run after an outage finds who was on hold before and paid meanwhile`()
    throws
  {
    let (shop, token) = try Self.shopBeforeRenewal()
    shop.store.breakCard(token)
    for _ in 0..<4 {
      shop.beAway(.days(4))
      try shop.pass(.minutes(20))
    }
    #expect(try shop.cap == Self.free)
    try shop.reconcile()
    shop.beAway(.days(1))
    shop.store.repairCard(token)
    shop.beAway(.days(11))
    try shop.reconcile()
    #expect(try shop.cap == Self.premium)
  }

  /// Google lists the refunds of thirty days.
  @Test func `a refund that no list tells any more is found after an outage`() throws {
    let (shop, token) = try Self.shop(.premiumYearly)
    try shop.reconcile()
    shop.beAway(.days(10))
    shop.store.refund(shop.store.orders(of: token)[0], revoking: true)
    shop.beAway(.days(50))
    try shop.reconcile()
    #expect(try shop.cap == Self.free)
  }

  @Test func `who renewed after the backup that was restored has what they pay for`() throws {
    let shop = try Self.shopBeforeRenewal().shop
    shop.lose(.days(5))
    try shop.pass(.minutes(20))
    #expect(try shop.cap == Self.premium)
  }

  @Test func `the first run after a restore finds who took a cancellation back since the backup`()
    throws
  {
    let (shop, token) = try Self.shopBeforeRenewal()
    try shop.cancel(token)
    shop.store.restore(token)
    shop.lose(.days(5))
    try shop.reconcile()
    #expect(try shop.cap == Self.premium)
  }

  @Test func `who is gone for good is asked about once after an outage, not day by day`() throws {
    let (shop, token) = try Self.shopBeforeRenewal()
    shop.store.cancel(token)
    shop.beAway(.days(12))
    try shop.pass(.minutes(20))
    try shop.reconcile()
    #expect(try shop.examinedCount == 1)
    for _ in 0..<3 {
      shop.beAway(.days(1))
      try shop.reconcile()
      #expect(try shop.examinedCount == 0)
    }
  }

  // MARK: before the outage

  private static let premium: Int64 = 30_000_000_000
  private static let free: Int64 = 1_000_000

  private static func shop(_ plan: GooglePlan) throws -> (shop: PlayShop, token: String) {
    let shop = try PlayShop()
    let token = shop.store.buy(plan, for: PlayShop.account)
    try shop.pass(.hours(2))
    #expect(try shop.cap == premium)
    return (shop, token)
  }

  /// Two days before the end of a month, after that day's run.
  private static func shopBeforeRenewal() throws -> (shop: PlayShop, token: String) {
    let (shop, token) = try shop(.premiumMonthly)
    try shop.reconcile()
    shop.beAway(.days(28))
    try shop.reconcile()
    return (shop, token)
  }
}

extension PlayShop {
  /// The customer's current cap.
  fileprivate var cap: Int64 {
    get throws {
      try installation.count(
        """
        SELECT cap_bytes FROM billing.entitlements
        WHERE from_ms <= \(installation.now.milliseconds) ORDER BY from_ms DESC LIMIT 1
        """)
    }
  }

  /// The number of subscriptions that the newest run had read.
  fileprivate var examinedCount: Int64? {
    get throws { try installation.reconciliations().first?.counts.examined }
  }

  /// The customer cancels, and the installation hears of it.
  fileprivate func cancel(_ token: String) throws {
    store.cancel(token)
    try pass(.minutes(20))
  }

  /// Makes a daily run, to its end.
  fileprivate func reconcile() throws {
    try installation.beginReconciling(isWhole: false)
    try pass(.hours(1))
    #expect(try installation.reconciliations().allSatisfy { $0.ended != nil })
  }
}
