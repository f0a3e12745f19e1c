import Apple
import Base
import BillingSimulation
import Crypto
import Flows
import Google
import JSON
import KnownStores
import ProviderFakes
import RecordedStories
import Stores
import TestEngines
import Testing

/// Migrations from another store to Stripe, without a gap and without a day that is paid twice.
struct FlowMigrationTests {
  /// Lets time pass at the stores and in the installation, and checks the plan every six hours.
  private func pass(_ shop: BuyingShop, until end: Instant, _ deliver: () throws -> Void) throws {
    while shop.installation.now < end {
      shop.installation.now = min(end, shop.installation.now + .hours(6))
      shop.stripe.run(until: shop.installation.now)
      try deliver()
      try shop.runDue()
      #expect(try shop.plan == "premium", "\(shop.installation.now)")
    }
  }

  private func appStore(_ migratable: Set<String>) throws -> (BuyingShop, FakeAppStore, FakeClock) {
    let clock = FakeClock(BuyingShop.start)
    let store = AppleTales.store(clock)
    let shop = try BuyingShop(.sqlite, migratable: migratable) { stripe, clock in
      .known(with: stripe, AppleTales.asStore(store, clock))
    }
    shop.delivers = true
    return (shop, store, clock)
  }

  /// Lets all notifications of the App Store after the first `count` come.
  private func deliver(
    _ count: inout Int, of store: FakeAppStore, _ clock: FakeClock, to shop: BuyingShop
  ) throws {
    clock.set(max(clock.now, shop.installation.now))
    store.catchUp()
    for delivery in store.deliveries.dropFirst(count) {
      _ = try shop.installation.deliver(store.request(for: delivery, at: shop.installation.now))
    }
    count = store.deliveries.count
  }

  @Test func `a month that the App Store renews while the bank asks is paid once`() throws {
    let (shop, store, clock) = try appStore(["apple"])
    let id = store.buy(.premiumMonthly, for: shop.account)
    var count = 0
    func deliver() throws { try self.deliver(&count, of: store, clock, to: shop) }
    try deliver()
    let end = store.expiry(of: id)
    try pass(shop, until: end - .hours(6), deliver)
    let begun = try shop.ask(.migrate("pm_card_authenticationRequiredOnSetup"))
    try shop.settle()
    try #require(try shop.flow(begun.id).status == .requiresAction)
    try pass(shop, until: end + .hours(6), deliver)
    #expect(try shop.finish(begun.id).status == .done)
    #expect(shop.stripe.chargeCount == 0)
    let gap = shop.stripe.periodEnd(of: try #require(shop.current.first)) - store.expiry(of: id)
    #expect(gap >= .seconds(0) && gap < .seconds(1))
  }

  @Test func `the App Store's customer goes on at Stripe when the paid month ends`() throws {
    let (shop, store, clock) = try appStore(["apple"])
    let id = store.buy(.premiumMonthly, for: shop.account)
    var count = 0
    func deliver() throws { try self.deliver(&count, of: store, clock, to: shop) }
    try deliver()
    #expect(try shop.plan == "premium")
    let end = store.expiry(of: id)
    let refusal = #expect(throws: FlowProblem.self) { try shop.ask(.subscribe("pm_card_visa")) }
    #expect(refusal?.code == .subscribedElsewhere)
    #expect(
      refusal?.members.first { $0.name == "choices" }?.value == ["end_at_store", "migrate"])

    let flow = try shop.finish(try shop.ask(.migrate("pm_card_visa")).id)
    #expect(flow.status == .done)
    #expect(try shop.action(of: flow.id) == .endRenewal(store: "apple"))
    let subscription = try #require(shop.current.first)
    #expect(shop.stripe.isTrialing(subscription))
    #expect(shop.stripe.chargeCount == 0)
    let gap = shop.stripe.periodEnd(of: subscription) - end
    #expect(gap >= .seconds(0) && gap < .seconds(1))

    store.turnOffRenewal(id)
    try pass(shop, until: end + .days(2), deliver)
    #expect(shop.stripe.chargeCount == 1)
    #expect(store.transactions(of: id).count == 1)
  }

  @Test func `a smaller plan chosen before the paid month ends is paid no sooner`() throws {
    let (shop, store, _) = try appStore(["apple"])
    _ = store.buy(.premiumMonthly, for: shop.account)
    for delivery in store.deliveries {
      _ = try shop.installation.deliver(store.request(for: delivery, at: shop.installation.now))
    }
    let flow = try shop.finish(try shop.ask(.migrate("pm_card_visa", plan: "plus")).id)
    try #require(flow.status == .done)
    let subscription = try #require(shop.current.first)
    let end = shop.stripe.periodEnd(of: subscription)
    #expect(try shop.finish(try shop.ask(.change(to: "premium")).id).status == .done)
    #expect(shop.stripe.isTrialing(subscription))
    #expect(shop.stripe.periodEnd(of: subscription) == end)
    #expect(shop.stripe.chargeCount == 0)
    shop.stripe.run(until: end + .days(2))
    #expect(shop.stripe.price(of: subscription) == .premiumMonthly)
    #expect(shop.stripe.chargeCount == 1)
  }

  private func playStore() throws -> (BuyingShop, FakePlayStore, FakeClock) {
    let clock = FakeClock(BuyingShop.start)
    var settings = FakePlayStore.Settings()
    settings.serviceKey = try #require(RSAPrivateKey(pem: StoryKeys.googleServiceKey)).publicKey
    let issuer = try #require(RSAPrivateKey(pem: StoryKeys.googleIssuerKey))
    let store = FakePlayStore(
      clock: clock, issuer: GoogleIssuer(keys: [issuer]), settings: settings)
    let shop = try BuyingShop(.sqlite, migratable: ["google"]) { stripe, clock in
      .known(with: stripe, LivePlay.store(store, clock))
    }
    shop.delivers = true
    return (shop, store, clock)
  }

  private func deliver(_ store: FakePlayStore, _ clock: FakeClock, to shop: BuyingShop) throws {
    clock.set(max(clock.now, shop.installation.now))
    for delivery in store.dueDeliveries {
      let status = try shop.installation.deliver(
        store.request(for: delivery, at: shop.installation.now))
      store.answered(delivery, status: status)
    }
  }

  /// Lets Google Play's pushes of a new purchase come, and reads what they name.
  private func settle(_ store: FakePlayStore, _ clock: FakeClock, to shop: BuyingShop) throws {
    for _ in 0..<40 {
      shop.installation.now = shop.installation.now + .minutes(1)
      try deliver(store, clock, to: shop)
      try shop.runDue()
    }
  }

  @Test func `Google Play is told to bill no more, once Stripe goes on`() throws {
    let (shop, store, clock) = try playStore()
    let token = store.buy(.premiumMonthly, for: shop.account)
    try settle(store, clock, to: shop)
    #expect(try shop.plan == "premium")
    let flow = try shop.finish(try shop.ask(.migrate("pm_card_visa")).id)
    #expect(flow.status == .done)
    #expect(try shop.action(of: flow.id) == nil)
    #expect(shop.stripe.chargeCount == 0)
    let end = shop.stripe.periodEnd(of: try #require(shop.current.first))
    try pass(shop, until: end + .days(2)) { try deliver(store, clock, to: shop) }
    #expect(shop.stripe.chargeCount == 1)
    #expect(store.orders(of: token).count == 1)
  }

  @Test func `an add-on of another store prevents no purchase, and is nothing to migrate`() throws {
    let (shop, store, clock) = try playStore()
    _ = store.buy(.extraMonthly, for: shop.account)
    try settle(store, clock, to: shop)
    #expect(try shop.plan == "extra")
    let actions = try shop.actions
    #expect(actions.contains("resubscribe") && !actions.contains("migrate"), "\(actions)")
    let refusal = #expect(throws: FlowProblem.self) { try shop.ask(.migrate("pm_card_visa")) }
    #expect(refusal?.code == .nothingToMigrate)
    #expect(try shop.finish(try shop.ask(.subscribe("pm_card_visa")).id).status == .done)
    #expect(try shop.plan == "premium")
  }

  @Test func `a store that the operator does not name is not left by a migration`() throws {
    let (shop, store, _) = try appStore([])
    _ = store.buy(.premiumMonthly, for: shop.account)
    for delivery in store.deliveries {
      _ = try shop.installation.deliver(store.request(for: delivery, at: shop.installation.now))
    }
    let refusal = #expect(throws: FlowProblem.self) { try shop.ask(.migrate("pm_card_visa")) }
    #expect(refusal?.code == .migrationNotOffered)
    let other = #expect(throws: FlowProblem.self) { try shop.ask(.checkout()) }
    #expect(other?.members.first { $0.name == "choices" }?.value == ["end_at_store"])
    #expect(shop.stripe.subscriptions.isEmpty)
  }
}
