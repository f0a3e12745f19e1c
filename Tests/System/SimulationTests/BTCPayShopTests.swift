import BTCPay
import Base
import BillingSimulation
import JSON
import KnownStores
import ProviderFakes
import SeededRandom
import Storage
import Stores
import TestEngines
import Testing
import Tiers

/// A shop continues to sell while the installation gets its webhooks, misses some, and reads. At every moment
/// the account has what the sales oracle says, as far as it could be known.
struct BTCPayShopTests {
  private static let account = Identifier(high: 0x2222_3333_4444_4555, low: 0x8666_7777_8888_9999)

  private struct Shop {
    let clock = FakeClock(Instant(seconds: 1_772_532_120))
    let store: FakeBTCPay
    let installation: Installation

    init(seed: UInt64, _ engine: TestEngine) throws {
      var settings = FakeBTCPay.Settings()
      settings.seed = seed
      let store = FakeBTCPay(clock: clock, settings: settings)
      self.store = store
      installation = try Installation(engine) { clock in
        StoreList.known(with: PastBTCPay(store: store) { clock.now() }.asStore)
      }
      installation.now = clock.now
    }

    /// Lets time pass at the store and in the installation. `isHeard` decides for each attempt whether it
    /// arrives.
    func pass(_ span: Instant.Span, isHeard: () -> Bool) throws {
      clock.advance(by: span)
      installation.now = clock.now
      while let delivery = store.dueDelivery {
        let request = store.request(for: delivery, at: clock.now)
        store.answered(delivery, status: isHeard() ? try installation.deliver(request) : 503)
      }
      try installation.runDue()
    }

    /// The intervals of the account's coverage in the rows.
    func owed() throws -> [String] {
      let text = try installation.database.read { reader in
        try reader.first(
          "SELECT coverage FROM billing.subscriptions WHERE object = $1",
          .text("btcpay:live:prepaid:\(account)")
        ) { row in try row.text(0) }
      }
      guard let text else { return [] }
      return (try JSON.parse(Array(text.utf8))["intervals"].array ?? []).map { interval in
        let (from, to) = (interval[1].integer ?? 0, interval[2].integer ?? 0)
        return "\(interval[0].string ?? "") \(interval[5].string ?? "") \(from)-\(to)"
      }.sorted()
    }

    func heard(_ truths: [BTCPayTruth]) -> [String] {
      truths.map {
        "\($0.product.plan) \($0.invoice) \($0.from.milliseconds)-\($0.to.milliseconds)"
      }.sorted()
    }
  }

  /// Does one random thing that a customer or the operator may do now.
  private func act(_ store: FakeBTCPay, _ random: inout SeededGenerator) {
    let products: [BTCPayProduct] = [.premiumMonth, .premiumYear, .plusMonth, .extraMonth]
    let invoice = store.invoices.randomElement(using: &random)
    let status = invoice.map { store.status(of: $0) } ?? ""
    switch (Int.random(in: 0..<8, using: &random), invoice) {
    case (0..<3, _):
      let made = store.order(products.randomElement(using: &random)!, for: Self.account)
      if Bool.random(using: &random) { store.pay(made, .lightning) }
    case (3..<5, let invoice?) where status.hasPrefix("New"):
      store.pay(invoice, confirmingAfter: .minutes(Int64.random(in: 1...90, using: &random)))
    case (5..<7, let invoice?) where !status.hasPrefix("Settled") || status.hasSuffix("Marked"):
      store.mark(invoice, isSettled: Bool.random(using: &random))
    case (7, _) where Bool.random(using: &random): store.restart()
    default: break
    }
  }

  @Test(arguments: TestEngine.available)
  func `whatever is lost on the way, everybody has what the sales oracle could know of`(
    engine: TestEngine
  ) throws {
    let seed = Seed.of("BTCPayShopTests")
    var random = SeededGenerator(seed: seed)
    for life in 0..<(TestRun.isFull ? 20 : 3) {
      let shop = try Shop(seed: UInt64(life), engine)
      for step in 0..<25 {
        act(shop.store, &random)
        let minutes = Int64.random(in: 1...4000, using: &random)
        try shop.pass(.minutes(minutes)) { Int.random(in: 0..<3, using: &random) > 0 }
        // A read finds what was lost for good.
        try shop.installation.reread(try shop.installation.keys)
        try shop.pass(.seconds(2)) { true }
        guard try !shop.installation.keys.isEmpty else { continue }
        let (owed, sold) = (
          try shop.owed(), shop.heard(shop.store.truthsAsHeard(of: Self.account))
        )
        try #require(owed == sold, "life \(life), step \(step), seed \(seed)")
      }
    }
  }

  @Test func `an open invoice is looked at until it is paid, though nobody tells`() throws {
    let shop = try Shop(seed: 1, .sqlite)
    let invoice = shop.store.order(.premiumMonth, for: Self.account)
    try shop.pass(.seconds(1)) { true }
    shop.store.pay(invoice, confirmingAfter: .minutes(3))
    shop.clock.advance(by: .minutes(4))
    shop.store.restart()
    try shop.pass(.minutes(11)) { true }
    #expect(try shop.owed().count == 1)
    let reads = shop.store.faults.requestCount
    for _ in 0..<100 { try shop.pass(.hours(6)) { true } }
    #expect(shop.store.faults.requestCount <= reads + 1, "what is settled is left alone")
  }
}
