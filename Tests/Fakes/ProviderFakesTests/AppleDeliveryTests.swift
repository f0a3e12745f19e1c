import Base
import Crypto
import JSON
import ProviderFakes
import Testing

/// Notifications as they are sent: signed three times, repeated, and of a realistic shape.
@Suite struct AppleDeliveryTests {
  private typealias Shop = AppleShop

  @Test func `the chain leads from leaf to root`() throws {
    let certificates = try Shop.signer.certificates.map { try #require(X509Certificate(der: $0)) }
    let trust = try #require(X509Trust(roots: [certificates[2]]))
    try trust.verify(leaf: certificates[0], intermediate: certificates[1], at: Shop.start)
    #expect(certificates[0].hasExtension("1.2.840.113635.100.6.11.1"))
    #expect(certificates[1].hasExtension("1.2.840.113635.100.6.2.1"))
  }

  @Test func `every signature has a time of its own, and later ones tell of later states`() throws {
    let shop = Shop()
    let id = shop.buy()
    shop.store.turnOffRenewal(id)
    shop.store.turnOnRenewal(id)
    var dates: [Instant] = []
    for delivery in shop.store.deliveries {
      let told = try shop.payload(delivery)
      dates += [told.transaction, told.renewal, told.outer].compactMap { $0?["signedDate"].instant }
      #expect(told.outer["signedDate"].instant == delivery.emitted)
    }
    #expect(dates.count == 9)
    #expect(dates == Set(dates).sorted())
  }

  @Test func `two attempts differ in their signatures alone`() throws {
    let shop = Shop()
    _ = shop.buy()
    let delivery = shop.store.deliveries[0]
    let first = shop.store.request(for: delivery, at: delivery.emitted)
    let second = shop.store.request(for: delivery, at: delivery.emitted + .hours(1))
    #expect(first.body != second.body)
    let texts = try [first, second].map {
      try JSON.parse($0.body)["signedPayload"].requireString()
    }
    #expect(AppleSigner.unsigned(texts[0]) == AppleSigner.unsigned(texts[1]))
  }

  @Test func `attempts can have dates of their own, and what is inside keeps its`() throws {
    let shop = Shop { $0.signsAttempts = true }
    _ = shop.buy()
    let delivery = shop.store.deliveries[0]
    let later = delivery.emitted + .hours(1)
    let told = try Shop.Notification(shop.store.request(for: delivery, at: later))
    #expect(told.outer["signedDate"].instant == later)
    #expect(try #require(told.transaction?["signedDate"].instant) <= delivery.emitted)
  }

  @Test func `what is refused is repeated after 1, 12, 24, 48 and 72 hours, then given up`() {
    let shop = Shop()
    _ = shop.buy()
    var hours: [Int64] = []
    for hour in 0..<200 {
      shop.go(to: Shop.start + .hours(Int64(hour)) + .seconds(1))
      if shop.store.deliver({ _ in 503 }) > 0 { hours.append(Int64(hour)) }
    }
    #expect(hours == [0, 1, 13, 37, 85, 157])
  }

  @Test(arguments: [200, 206]) func `what is accepted is not repeated`(status: Int) {
    let shop = Shop()
    _ = shop.buy()
    #expect(shop.store.deliver { _ in status } == 1)
    shop.go(.hours(80))
    #expect(shop.store.dueDeliveries.isEmpty)
  }

  @Test func `the sandbox makes one attempt`() {
    let shop = Shop { $0.environment = .sandbox }
    _ = shop.buy()
    #expect(shop.store.deliver { _ in nil } == 1)
    shop.go(.seconds(1))
    #expect(shop.store.dueDeliveries.isEmpty)
  }

  @Test func `what is about no subscription has another object, or none`() throws {
    let shop = Shop()
    shop.store.sendTest()
    #expect(try shop.last().outer["data"]["signedTransactionInfo"].exists == false)
    shop.store.sellOnce("com.example.coffer.coins")
    #expect(try shop.last().transaction?["type"].string == "Consumable")
    #expect(try shop.last().renewal == nil)
    shop.store.finishMassExtension(of: .premiumMonthly, succeeded: 3, failed: 1)
    #expect(try shop.last().outer["summary"]["failedCount"].integer == 1)
    shop.store.createExternalPurchaseToken()
    #expect(try shop.last().outer["externalPurchaseToken"]["bundleId"].string != nil)
    shop.store.rescindConsent()
    let consent = try shop.last().outer["appData"]["signedAppTransactionInfo"].requireString()
    #expect(try Shop.verified(consent)["bundleId"].string == "com.example.coffer")
  }

  @Test func `a notification has the size of the store's own`() {
    let shop = Shop()
    _ = shop.buy()
    let count = shop.store.request(for: shop.store.deliveries[0], at: Shop.start).body.count
    #expect((9000...24_000).contains(count), "\(count) bytes")
  }

  @Test func `the same seed gives the same ids`() {
    func names(_ seed: UInt64) -> [String] {
      let shop = Shop { $0.seed = seed }
      return [shop.buy()] + shop.store.deliveries.map(\.id)
    }
    #expect(names(3) == names(3))
    #expect(names(3) != names(4))
  }

  @Test func `ids look like the store's`() throws {
    let shop = Shop()
    let id = shop.buy()
    #expect(id.hasPrefix("2000000") && id.utf8.count == 16)
    let notice = try #require(shop.store.deliveries.first?.id)
    #expect(Identifier(notice)?.description == notice)
    #expect(Array(notice.utf8)[14] == UInt8(ascii: "4"))
  }
}
