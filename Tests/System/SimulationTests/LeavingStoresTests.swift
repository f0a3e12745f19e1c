import Base
import BillingSimulation
import Crypto
import KnownStores
import Ledger
import ProviderFakes
import RecordedStories
import TestEngines
import Testing

/// Deliveries of stores other than Stripe about an account that leaves, before and after its deletion.
struct LeavingStoresTests {
  /// A shop whose account bought at such a store. The closure delivers the store's messages.
  typealias Opened = (shop: BuyingShop, deliver: () throws -> Void)

  enum Place: CaseIterable { case apple, google, btcpay }

  private func open(_ place: Place) throws -> Opened {
    let clock = FakeClock(BuyingShop.start)
    switch place {
    case .apple: return try appStore(clock)
    case .google: return try play(clock)
    case .btcpay: return try shopOfBTCPay(clock)
    }
  }

  private func appStore(_ clock: FakeClock) throws -> Opened {
    let store = AppleTales.store(clock)
    let shop = try BuyingShop(.sqlite) { stripe, clock in
      .known(with: stripe, AppleTales.asStore(store, clock))
    }
    _ = store.buy(.premiumMonthly, for: shop.account)
    var count = 0
    return (
      shop,
      {
        clock.set(max(clock.now, shop.installation.now))
        store.catchUp()
        for delivery in store.deliveries.dropFirst(count) {
          _ = try shop.installation.deliver(
            store.request(for: delivery, at: shop.installation.now))
        }
        count = store.deliveries.count
      }
    )
  }

  private func play(_ fake: FakeClock) throws -> Opened {
    var settings = FakePlayStore.Settings()
    settings.serviceKey = try #require(RSAPrivateKey(pem: StoryKeys.googleServiceKey)).publicKey
    let issuer = try #require(RSAPrivateKey(pem: StoryKeys.googleIssuerKey))
    let store = FakePlayStore(
      clock: fake, issuer: GoogleIssuer(keys: [issuer]), settings: settings)
    let shop = try BuyingShop(.sqlite) { stripe, clock in
      // The store's time follows the installation's at every read.
      .known(
        with: stripe,
        LivePlay.store(
          store,
          Clock {
            let now = clock.now()
            fake.set(max(fake.now, now))
            return now
          }))
    }
    _ = store.buy(.premiumMonthly, for: shop.account)
    return (
      shop,
      {
        fake.set(max(fake.now, shop.installation.now))
        for delivery in store.dueDeliveries {
          let status = try shop.installation.deliver(
            store.request(for: delivery, at: shop.installation.now))
          store.answered(delivery, status: status)
        }
      }
    )
  }

  /// One invoice is paid, and one is only looked at.
  private func shopOfBTCPay(_ clock: FakeClock) throws -> Opened {
    let store = FakeBTCPay(clock: clock, settings: FakeBTCPay.Settings())
    let shop = try BuyingShop(.sqlite) { stripe, clock in
      .known(with: stripe, PastBTCPay(store: store) { clock.now() }.asStore)
    }
    store.pay(store.order(.premiumMonth, for: shop.account), .lightning)
    _ = store.order(.premiumYear, for: shop.account)
    return (
      shop,
      {
        clock.set(max(clock.now, shop.installation.now))
        store.catchUp()
        while let delivery = store.dueDelivery {
          let status = try shop.installation.deliver(
            store.request(for: delivery, at: clock.now))
          store.answered(delivery, status: status)
        }
      }
    )
  }

  @Test(arguments: Place.allCases)
  func `all of it is erased, what comes later too, and nobody is called`(place: Place) throws {
    let (shop, deliver) = try open(place)
    func pass(_ days: Int64) throws {
      for _ in 0..<(days * 4) {
        try shop.pass(.hours(6))
        try deliver()
      }
    }
    try shop.installation.beginRounds()
    try deliver()
    try pass(1)
    #expect(try shop.plan == "premium")
    #expect(try !shop.keptBodies.isEmpty)
    try shop.askForEnd()
    try pass(7)
    try shop.beginErasing()
    try pass(3)
    #expect(try shop.isErased)
    #expect(try shop.keptBodies == [])
    try pass(40)
    let later = try shop.keptBodies
    #expect(later.isEmpty, "\(later)")
    // The App Store bills until its customer cancels there.
    #expect(
      try shop.installation.attention().map(\.kind) == (place == .apple ? [.stillBilled] : []))
    #expect(try shop.installation.drift().isEmpty)
  }
}
