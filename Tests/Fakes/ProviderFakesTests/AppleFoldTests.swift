import Base
import ProviderFakes
import SeededRandom
import Testing
import Tiers

/// The decoder and the fold, given random lives at the fake store and checked against its sales oracle.
@Suite struct AppleFoldTests {
  private typealias Shop = AppleShop

  private static let plans = [
    AppleProduct.premiumMonthly.id: "premium", AppleProduct.plusMonthly.id: "plus",
  ]

  /// Runs a life step by step; `reaches` decides at which steps notifications reach us.
  private func live(
    _ shop: Shop, _ random: inout SeededGenerator, seed: UInt64,
    reaches: (inout SeededGenerator) -> Bool
  ) throws {
    var ledger = try AppleLedger(
      of: Shop.owner, root: Shop.signer.root, bundleID: shop.store.settings.bundleID,
      appAppleID: shop.store.settings.appAppleID)
    let id = shop.buy()
    var told: Set<FakeDelivery> = []
    for step in 0..<40 {
      shop.go(.hours(Int64.random(in: 1...150, using: &random)))
      try AppleLife.act(shop, id, &random)
      let news = shop.store.deliveries.filter { !told.contains($0) }
      guard reaches(&random) || step == 39 else { continue }
      for delivery in news.shuffled(using: &random) {
        let now = max(shop.clock.now, delivery.emitted)
        try ledger.deliver(shop.store.request(for: delivery, at: now).body, at: now)
      }
      told.formUnion(news)
      let owed = Self.plans.first { product, _ in
        shop.store.truth(of: id).isOwed(product, at: shop.clock.now)
      }?.value
      let found = ledger.entitlement(at: shop.clock.now)
      let agrees = found.planID == owed ?? "free" || (owed == nil && found.reason == .leeway)
      try #require(
        agrees, "step \(step): owed \(owed ?? "nothing"), found \(found), seed \(seed)")
    }
  }

  @Test func `once all was told, access is what the store owes`() throws {
    let seed = SeededGenerator.seed(of: "AppleFoldTests.told")
    var random = SeededGenerator(seed: seed)
    for life in 0..<12 {
      let shop = Shop { settings in
        settings.seed = UInt64(life)
        settings.graceDays = [0, 3, 16][life % 3]
      }
      try live(shop, &random, seed: seed) { _ in true }
    }
  }

  @Test func `told late, in heaps and in any order, it ends the same`() throws {
    let seed = SeededGenerator.seed(of: "AppleFoldTests.late")
    var random = SeededGenerator(seed: seed)
    for life in 0..<12 {
      let shop = Shop { $0.seed = UInt64(life) }
      try live(shop, &random, seed: seed) { Int.random(in: 0..<5, using: &$0) == 0 }
    }
  }
}
