import Base
import JSON
import ProviderFakes
import Testing
import Tiers

/// A fake server, and short ways to call it.
struct BTCPayShop {
  static let start = Instant(seconds: 1_772_445_600)
  static let account = Identifier(high: 0x0B50_DFBE_8C5B_4A7C, low: 0x9F36_1F2D_3B6F_0001)
  static let other = Identifier(high: 0x0B50_DFBE_8C5B_4A7C, low: 0x9F36_1F2D_3B6F_0002)

  let clock = FakeClock(start)
  let store: FakeBTCPay

  init(_ change: (inout FakeBTCPay.Settings) -> Void = { _ in }) {
    var settings = FakeBTCPay.Settings()
    change(&settings)
    store = FakeBTCPay(clock: clock, settings: settings)
  }

  /// The fake's products, for the fold.
  static let catalogue: Catalogue = {
    func product(_ product: BTCPayProduct) -> Plan.Product {
      Plan.Product(
        provider: "btcpay", id: product.itemCode,
        price: Plan.Price(
          amountMinorUnits: product.cents, currency: "eur",
          interval: product.months == 12 ? .year : .month))
    }
    do {
      return try Catalogue(
        version: "fake", free: Plan(id: "free", title: "Free", byteCount: 1),
        paid: [
          Plan(
            id: "premium", title: "Premium", byteCount: 30,
            products: [product(.premiumMonth), product(.premiumYear)]),
          Plan(id: "plus", title: "Plus", byteCount: 200, products: [product(.plusMonth)]),
          Plan(
            id: "extra", title: "Extra", byteCount: 2, isAddition: true,
            products: [product(.extraMonth)]),
        ], ignored: [Plan.Product(provider: "btcpay", id: "stickers")])
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  /// An authorized read under the store's invoices.
  func call(_ path: String, key: String? = nil, store id: String? = nil) -> FakeAnswer? {
    let key = key ?? String(decoding: store.settings.apiKey.exposed, as: UTF8.self)
    return store.answer(
      FakeRequest(
        method: "GET",
        path: "/api/v1/stores/\(id ?? store.settings.storeID)/invoices" + path,
        headers: [("Authorization", "token \(key)")]))
  }

  func json(_ path: String) throws -> JSON {
    let answer = try #require(call(path))
    #expect(answer.status == 200)
    return try JSON.parse(answer.body)
  }

  /// The types of all deliveries so far, oldest first.
  var told: [String] { store.deliveries.map { store.type(of: $0) } }

  /// The body of a delivery's next attempt.
  func body(_ delivery: FakeDelivery) throws -> JSON {
    try JSON.parse(store.request(for: delivery, at: clock.now).body)
  }

  func go(_ span: Instant.Span) { clock.advance(by: span) }

  /// `premium 0-31`, in days from the start.
  func truths(of account: Identifier = account) -> [String] {
    func days(_ moment: Instant) -> Int64 { (moment - Self.start).milliseconds / 86_400_000 }
    return store.truths(of: account).map { "\($0.product.plan) \(days($0.from))-\(days($0.to))" }
  }
}
