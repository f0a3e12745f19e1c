import Base
import JSON
import ProviderFakes
import SeededRandom
import Testing

/// The truth is recorded from sales; here it is compared with reads.
@Suite struct AppleTruthTests {
  private typealias Shop = AppleShop

  /// The product to which a read gives access now, by the rule of the store's reference.
  private func shown(_ shop: Shop, _ id: String) throws -> String? {
    let read = try shop.read(id)
    switch read.status {
    case 4:
      let until = try #require(read.renewal["gracePeriodExpiresDate"].instant)
      return shop.clock.now < until ? read.transaction["productId"].string : nil
    case 1:
      // If the renewal was charged early, the latest transaction has not begun. The one before shows the
      // present product.
      let history = try shop.get("/inApps/v2/history/\(id)").json["signedTransactions"]
      let sales = try history.requireArray().map { try Shop.verified($0.requireString()) }
      return sales.filter {
        guard let from = $0["purchaseDate"].instant, let to = $0["expiresDate"].instant,
          $0["isUpgraded"].bool != true
        else { return false }
        return from <= shop.clock.now && shop.clock.now < to && !$0["revocationDate"].exists
      }.compactMap { $0["productId"].string }.last
    default: return nil
    }
  }

  @Test func `over random lives a read gives access exactly when the store owes it`() throws {
    let seed = SeededGenerator.seed(of: "AppleTruthTests.lives")
    var random = SeededGenerator(seed: seed)
    for life in 0..<16 {
      let shop = Shop { settings in
        settings.seed = UInt64(life)
        settings.graceDays = [0, 3, 16][life % 3]
      }
      let id = shop.buy(trialDays: life % 4 == 0 ? 14 : 0)
      for step in 0..<40 {
        shop.go(.hours(Int64.random(in: 1...150, using: &random)))
        try AppleLife.act(shop, id, &random)
        let truth = shop.store.truth(of: id)
        let owed = AppleProduct.all.map(\.id).filter { truth.isOwed($0, at: shop.clock.now) }
        let shown = try shown(shop, id).map { [$0] } ?? []
        try #require(
          owed == shown, "life \(life), step \(step): owed \(owed), shown \(shown), seed \(seed)")
      }
    }
  }

  @Test func `paid periods of one subscription never overlap`() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "AppleTruthTests.overlap"))
    for life in 0..<16 {
      let shop = Shop { $0.seed = UInt64(life) }
      let id = shop.buy()
      for _ in 0..<40 {
        shop.go(.hours(Int64.random(in: 1...150, using: &random)))
        try AppleLife.act(shop, id, &random)
      }
      let periods = shop.store.truth(of: id).paid.sorted { $0.from < $1.from }
      for (a, b) in zip(periods, periods.dropFirst()) { try #require(a.to <= b.from) }
    }
  }

  @Test func `grace is the store's, not the customer's money`() {
    let shop = Shop()
    let id = shop.buy()
    let end = shop.store.expiry(of: id)
    shop.store.breakCard(id)
    shop.go(to: end + .days(2))
    #expect(shop.store.graceUntil(id) == end + .days(16))
    #expect(
      shop.store.paidPeriods(of: id) == [
        PaidPeriod(
          account: Shop.owner, productID: AppleProduct.premiumMonthly.id, from: Shop.start, to: end)
      ])
  }

  @Test func `a refund takes what is left, and nothing of an earlier period`() {
    let shop = Shop()
    let id = shop.buy()
    let end = shop.store.expiry(of: id)
    shop.go(to: end + .days(5))
    shop.store.refund(id)
    #expect(shop.store.paidPeriods(of: id).map(\.to) == [end, end.adding(months: 1)])
    shop.store.refund(shop.store.latestTransaction(of: id))
    #expect(shop.store.paidPeriods(of: id).map(\.to) == [end, end + .days(5)])
  }

  @Test func `a refund that was reversed took nothing`() {
    let shop = Shop()
    let id = shop.buy()
    let end = shop.store.expiry(of: id)
    shop.go(.days(5))
    shop.store.refund(id)
    shop.go(.days(5))
    shop.store.reverseRefund(id)
    #expect(shop.store.paidPeriods(of: id).map(\.to) == [end])
  }

  @Test func `an upgrade ends the old period, and an extension moves the new one's end`() {
    let shop = Shop()
    let id = shop.buy()
    shop.go(.days(5))
    shop.store.change(id, to: .plusMonthly)
    let end = shop.store.expiry(of: id)
    shop.store.extend(id, days: 10)
    let periods = shop.store.paidPeriods(of: id)
    #expect(periods.map(\.from) == [Shop.start, Shop.start + .days(5)])
    #expect(periods.map(\.to) == [Shop.start + .days(5), end + .days(10)])
  }

  @Test func `a member of the family has theirs for as long as it is shared`() {
    let shop = Shop()
    let id = shop.buy()
    let other = Identifier(high: 7, low: 12)
    let member = shop.store.share(id, with: other)
    shop.go(.days(4))
    shop.store.stopSharing(member)
    #expect(
      shop.store.paidPeriods(of: member) == [
        PaidPeriod(
          account: other, productID: AppleProduct.premiumMonthly.id, from: Shop.start,
          to: Shop.start + .days(4))
      ])
    #expect(shop.store.paidPeriods(of: id).map(\.to) == [shop.store.expiry(of: id)])
  }

  @Test func `what was known to the sales oracle can be asked afterwards`() {
    let shop = Shop()
    let id = shop.buy()
    let end = shop.store.expiry(of: id)
    shop.go(.days(5))
    shop.store.refund(id)
    #expect(shop.store.truths(asOf: Shop.start + .days(4))[0].paid.map(\.to) == [end])
    #expect(shop.store.truths(asOf: Shop.start + .days(5))[0].paid.map(\.to) == [shop.clock.now])
    #expect(shop.store.truths(asOf: Shop.start - .seconds(1)).isEmpty)
  }
}

/// A customer, a bank and a store that act at random.
enum AppleLife {
  /// Performs one random action that a customer, a bank or the store may take now.
  static func act(_ shop: AppleShop, _ id: String, _ random: inout SeededGenerator) throws {
    let store = shop.store
    let read = try shop.read(id)
    let renews = read.renewal["autoRenewStatus"].integer == 1
    let hasBegun = try #require(read.transaction["purchaseDate"].instant) <= shop.clock.now
    switch (read.status, Int.random(in: 0..<9, using: &random)) {
    case (1, 0): store.breakCard(id)
    case (1, 1), (4, 1): if renews { store.turnOffRenewal(id) } else { store.turnOnRenewal(id) }
    case (1, 2) where hasBegun:
      let product = read.transaction["productId"].string
      store.change(
        id, to: product == AppleProduct.plusMonthly.id ? .premiumMonthly : .plusMonthly)
    case (1, 3) where hasBegun: store.refund(store.latestTransaction(of: id))
    case (1, 4) where Bool.random(using: &random): store.extend(id, days: 3)
    case (4, 3...5), (3, 2...3): store.repairCard(id)
    case (5, 0...1): store.reverseRefund(store.latestTransaction(of: id))
    case (2, 0...3), (5, 2...4): store.resubscribe(id)
    default: break
    }
  }
}
