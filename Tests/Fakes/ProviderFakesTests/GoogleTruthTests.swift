import Base
import JSON
import ProviderFakes
import SeededRandom
import Testing

/// The truth is recorded from sales; here it is compared with reads.
@Suite struct GoogleTruthTests {
  private typealias Shop = GoogleShop

  private func moment(_ text: String) -> Instant? {
    // Reads show only times within this test's years, so the time is found by bisection.
    var (low, high) = (Shop.start.milliseconds - 1, Shop.start.milliseconds + 2000 * 86_400_000)
    while low < high {
      let middle = (low + high) / 2
      if Self.padded(Instant(milliseconds: middle)) < Self.padded(text) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    let found = Instant(milliseconds: low)
    return found.description == text ? found : nil
  }

  private static func padded(_ moment: Instant) -> String { padded(moment.description) }
  private static func padded(_ text: String) -> String {
    text.count == 20 ? text.dropLast() + ".000Z" : text
  }

  /// Whether a read gives access now, by the rule of Google's reference.
  private func isShown(_ shop: Shop, _ token: String) throws -> Bool {
    guard shop.status(token) == 200 else { return false }
    let read = try shop.read(token)
    let state = read["subscriptionState"].string ?? ""
    guard ["ACTIVE", "IN_GRACE_PERIOD", "CANCELED"].contains(state.dropFirst(19)) else {
      return false
    }
    let expiries = (read["lineItems"].array ?? []).compactMap { $0["expiryTime"].string }
    return expiries.compactMap(moment).contains { shop.clock.now < $0 }
  }

  /// Performs one random action that a customer or a bank may take now.
  private func act(_ shop: Shop, _ token: inout String, _ random: inout SeededGenerator) throws {
    let shows = try shop.status(token) == 200 ? shop.shows(token) : "EXPIRED"
    let state = shows.prefix { $0 != " " }
    switch (state, Int.random(in: 0..<8, using: &random)) {
    case ("ACTIVE", 0): shop.store.breakCard(token)
    case ("ACTIVE", 1): shop.store.cancel(token)
    case ("ACTIVE", 2): shop.store.schedulePause(token, .days(14))
    case ("ACTIVE", 3), ("CANCELED", 3):
      if try isShown(shop, token) {
        token = shop.store.replace(token, with: Shop.yearly, .chargeFullPrice)
        shop.store.acknowledge(token)
      }
    case ("ACTIVE", 4):
      if Bool.random(using: &random), let order = shop.store.orders(of: token).first {
        shop.store.chargeBack(order)
      }
    case ("ACTIVE", 5):
      // Not on the day of silence after a period's end.
      if try isShown(shop, token) { shop.store.postpone(token, by: .days(3)) }
    case ("IN_GRACE_PERIOD", 0...2), ("ON_HOLD", 0...1): shop.store.repairCard(token)
    case ("PAUSED", 0): shop.store.resume(token)
    case ("EXPIRED", 0...2):
      token = shop.store.buy(Shop.monthly, for: Shop.owner)
      shop.store.acknowledge(token)
    default: break
    }
  }

  @Test func `over random lives a read gives access exactly when the store owes it`() throws {
    let seed = SeededGenerator.seed(of: "GoogleTruthTests.lives")
    var random = SeededGenerator(seed: seed)
    for life in 0..<40 {
      let shop = Shop { $0.seed = UInt64(life) }
      var token = shop.store.buy(Shop.monthly, for: Shop.owner)
      shop.store.acknowledge(token)
      for step in 0..<60 {
        shop.clock.advance(by: .hours(Int64.random(in: 1...120, using: &random)))
        try act(shop, &token, &random)
        let truth = shop.store.truth(of: token)
        let owed = truth.isOwed("premium", at: shop.clock.now)
        let shown = try isShown(shop, token)
        // On the day of silence, only the state shows that access continues.
        let isSilent = try !shown && owed && shop.shows(token).hasPrefix("ACTIVE")
        let agrees = owed == shown || isSilent
        try #require(
          agrees, "life \(life), step \(step): owed \(owed), shown \(shown), seed \(seed)")
      }
    }
  }

  @Test func `paid periods of one purchase never overlap`() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "GoogleTruthTests.overlap"))
    for life in 0..<40 {
      let shop = Shop { $0.seed = UInt64(life) }
      var token = shop.store.buy(Shop.monthly, for: Shop.owner)
      shop.store.acknowledge(token)
      for _ in 0..<40 {
        shop.clock.advance(by: .hours(Int64.random(in: 1...120, using: &random)))
        try act(shop, &token, &random)
      }
      for truth in shop.store.truths {
        let periods = truth.paid.sorted { $0.from < $1.from }
        for (a, b) in zip(periods, periods.dropFirst()) { try #require(a.to <= b.from) }
      }
    }
  }

  @Test func `grace is the store's, not the customer's money`() {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner)
    shop.store.acknowledge(token)
    shop.store.breakCard(token)
    shop.go(to: shop.end + .days(2))
    #expect(shop.store.graceUntil(token) == shop.end + .days(7))
    #expect(
      shop.store.paidPeriods(of: Shop.owner) == [
        PaidPeriod(account: Shop.owner, productID: "premium", from: Shop.start, to: shop.end)
      ])
  }

  @Test func `a refund takes what is left, a chargeback the period it paid for`() throws {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner)
    shop.store.acknowledge(token)
    shop.go(to: shop.end + .days(1))
    let orders = shop.store.orders(of: token)
    shop.store.chargeBack(orders[0])
    #expect(shop.store.truth(of: token).paid.map(\.orderID) == [orders[1]])
    shop.store.refund(orders[1], revoking: true)
    #expect(
      shop.store.paidPeriods(of: Shop.owner) == [
        PaidPeriod(
          account: Shop.owner, productID: "premium", from: shop.end, to: shop.end + .days(1))
      ])
  }

  @Test func `the same seed gives the same tokens, orders and messages`() {
    func names(_ seed: UInt64) -> [String] {
      let shop = Shop { $0.seed = seed }
      let token = shop.store.buy(Shop.monthly, for: Shop.owner)
      return [token] + shop.store.orders(of: token) + shop.store.deliveries.map(\.id)
    }
    #expect(names(3) == names(3))
    #expect(names(3) != names(4))
  }
}
