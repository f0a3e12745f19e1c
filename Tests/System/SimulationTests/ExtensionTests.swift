import Answers
import Apple
import Base
import BillingSimulation
import KnownStores
import Ledger
import ProviderAPI
import ProviderFakes
import Storage
import Stores
import Subscriptions
import TestEngines
import Testing
import Tiers

/// Days that a store gives on the operator's order.
struct ExtensionTests {
  /// Makes an order from what is known now.
  private static func order(
    _ days: Int64, _ key: ObjectKey, secret: Secret? = nil, at store: any Store,
    _ installation: Installation
  ) throws -> () throws(APIFailure) -> Void {
    let record = try installation.database.read { reader in
      try Ledger(stores: .known, rules: LedgerRules(catalogue: simulationCatalogue))
        .reading(reader).subscription(key).record
    }
    let request = StoreRead(key, readNumber: 0, secret: secret) {
      StoreRead.Known(reasons: [], parts: [])
    }
    return { () throws(APIFailure) in
      try store.perform(
        .extend(days: days, because: .outage, knownEnd: record.end), request, record)
    }
  }

  @Test func `Google Play gives days once, however often one order is sent`() throws {
    let shop = try PlayShop()
    let token = shop.store.buy(.premiumMonthly, for: PlayShop.account)
    try shop.pass(.hours(2))
    let key = try PlayShop.key(token)
    let before = try #require(shop.store.truth(of: token).paid.map(\.to).max())
    let store = LivePlay.store(shop.store, Clock { [clock = shop.store.clock] in clock.now })
    let order = try Self.order(
      7, key, secret: Secret(token), at: store, shop.installation)
    try order()
    #expect(throws: APIFailure.self) { try order() }
    #expect(shop.store.truth(of: token).paid.map(\.to).max() == before + .days(7))
    try shop.pass(.hours(1))
    let ends = try shop.installation.database.read { reader in
      try Ledger(stores: .known, rules: LedgerRules(catalogue: simulationCatalogue))
        .overview(of: PlayShop.account, at: shop.installation.now, reading: reader)
        .subscriptions.first?.validUntil
    }
    #expect(ends == before + .days(7))
  }

  @Test func `the end that is shown before Google Play gives days is the one that they move`()
    throws
  {
    let shop = try PlayShop()
    let token = shop.store.buy(.premiumMonthly, for: PlayShop.account)
    try shop.pass(.hours(2))
    let key = try PlayShop.key(token)
    let store = LivePlay.store(shop.store, Clock { [clock = shop.store.clock] in clock.now })
    func end() throws -> Instant? {
      try shop.installation.database.read { reader in
        try Ledger(stores: .known, rules: LedgerRules(catalogue: simulationCatalogue))
          .reading(reader).subscription(key).record.end
      }
    }
    for days: Int64 in [7, 3] {
      let before = try #require(try end())
      #expect(before == shop.store.truth(of: token).paid.map(\.to).max())
      try Self.order(days, key, secret: Secret(token), at: store, shop.installation)()
      try shop.pass(.hours(1))
      #expect(try end() == before + .days(days))
    }
  }

  @Test func `a purchase that is over gets no days`() throws {
    let shop = try PlayShop()
    let token = shop.store.buy(.premiumMonthly, for: PlayShop.account)
    try shop.pass(.hours(1))
    shop.store.cancel(token)
    try shop.pass(.days(32))
    let store = LivePlay.store(shop.store, Clock { [clock = shop.store.clock] in clock.now })
    let order = try Self.order(
      7, PlayShop.key(token), secret: Secret(token), at: store, shop.installation)
    #expect(throws: APIFailure.self) { try order() }
  }

  @Test func `the App Store gives days once, however often one order is sent`() throws {
    let clock = FakeClock(Instant(milliseconds: 1_772_532_120_512))
    let fake = AppleTales.store(clock)
    let store = AppleTales.asStore(fake, Clock { clock.now })
    let installation = try Installation(.sqlite) { _ in StoreList.known(with: store) }
    let id = fake.buy(.premiumMonthly, for: PlayShop.account)
    let before = fake.expiry(of: id)
    func tell() throws {
      clock.set(clock.now + .minutes(10))
      installation.now = clock.now
      for delivery in fake.dueDeliveries {
        let status = try installation.deliver(fake.request(for: delivery, at: clock.now))
        fake.answered(delivery, status: status)
      }
      try installation.runDue()
    }
    try tell()
    let key = ObjectKey(provider: .apple, environment: .live, kind: .subscription, id: id)
    let order = try Self.order(5, key, at: store, installation)
    try order()
    clock.set(clock.now + .minutes(1))
    #expect(throws: APIFailure.self) { try order() }
    #expect(fake.expiry(of: id) == before + .days(5))
    try tell()
    let again = try Self.order(3, key, at: store, installation)
    try again()
    #expect(fake.expiry(of: id) == before + .days(8))
    try tell()
    let third = try Self.order(3, key, at: store, installation)
    let reason = "the App Store extended it twice within 365 days"
    #expect(throws: APIFailure.refused(status: 403, reason)) { try third() }
    #expect(fake.expiry(of: id) == before + .days(8))
  }

  @Test func `what the App Store refuses is said, and nothing is given`() throws {
    let clock = FakeClock(Instant(milliseconds: 1_772_532_120_512))
    let fake = AppleTales.store(clock)
    let store = AppleTales.asStore(fake, Clock { clock.now })
    let installation = try Installation(.sqlite) { _ in StoreList.known(with: store) }
    let id = fake.buy(.premiumMonthly, for: PlayShop.account)
    clock.set(clock.now + .minutes(10))
    installation.now = clock.now
    for delivery in fake.dueDeliveries {
      #expect(try installation.deliver(fake.request(for: delivery, at: clock.now)) == 200)
    }
    let key = ObjectKey(provider: .apple, environment: .live, kind: .subscription, id: id)
    let order = try Self.order(91, key, at: store, installation)
    #expect(throws: APIFailure.refused(status: 400, "the App Store answers error 4000009")) {
      try order()
    }
  }
}
