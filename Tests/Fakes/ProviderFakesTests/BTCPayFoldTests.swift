import BTCPay
import Base
import HTTPMessages
import ProviderAPI
import ProviderFakes
import SeededRandom
import Subscriptions
import Testing

/// Random lives at the fake: our fold of deliveries and reads agrees with the sales oracle.
@Suite struct BTCPayFoldTests {
  private typealias Shop = BTCPayShop

  /// Reads the fake like a job, and keeps the content of deliveries.
  private struct Reader {
    let shop: Shop
    var record = BTCPayRecord(id: Shop.account.description)
    private var delivery: Int64 = 0
    private var readCount: Int64 = 0

    init(_ shop: Shop) { self.shop = shop }

    private mutating func settled(_ invoice: String, _ settlement: BTCPaySettlement) {
      delivery += 1
      record.insert(
        .settlement(settlement), id: invoice, asOf: BTCPaySettlement.asOf, delivery: delivery)
    }

    /// Like our server: the signed delivery gives the time, a read gives the content.
    mutating func take(_ request: FakeRequest) throws -> Int {
      let secrets = try #require(BTCPaySecrets([shop.store.settings.secret]))
      let signature = Array(try #require(request.header("btcpay-sig")).utf8)
      let delivery = try secrets.verify(headers: [signature], body: request.body)
      let event = try BTCPayEvent(delivery, store: shop.store.settings.storeID)
      if let invoice = event.invoice, let settlement = event.settlement {
        settled(invoice, settlement)
      }
      return 200
    }

    mutating func read() throws {
      let store = shop.store
      let api = BTCPayAPI(
        base: "", store: store.settings.storeID, key: store.settings.apiKey,
        transport: Transport(store: store))
      readCount += 1
      for shown in try api.invoices(of: Shop.account).invoices {
        delivery += 1
        record.insert(
          .invoice(shown.content), id: shown.id, asOf: .readNumber(readCount), delivery: delivery)
        if let settlement = shown.settlement { settled(shown.id, settlement) }
      }
    }

    var coverage: Coverage { record.coverage(policy: .standard, catalogue: Shop.catalogue) }
  }

  private struct Transport: ProviderTransport {
    let store: FakeBTCPay

    func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
      let headers = request.headers.map { (name: $0.0, value: $0.1) }
      guard
        let answer = store.answer(
          FakeRequest(method: request.method, path: request.url, headers: headers))
      else { throw .transient("timeout", retryAfter: nil) }
      return APIReply(
        status: answer.status, headers: Headers(answer.headers.map { ($0.name, $0.value) }),
        body: answer.body, elapsed: .milliseconds(5))
    }
  }

  /// Performs one random action that someone may take now.
  private func act(_ shop: Shop, _ random: inout SeededGenerator) {
    let store = shop.store
    let products: [BTCPayProduct] = [
      .premiumMonth, .premiumMonth, .premiumYear, .plusMonth, .extraMonth, .stickers,
    ]
    let invoices = store.invoices
    let invoice = invoices.randomElement(using: &random)
    let status = invoice.map { store.status(of: $0) } ?? ""
    switch (Int.random(in: 0..<12, using: &random), invoice) {
    case (0..<4, _):
      let made = store.order(products.randomElement(using: &random)!, for: Shop.account)
      if Bool.random(using: &random) { store.pay(made, .lightning) }
    case (4, _):
      let made = store.makeUp(
        orderID: Shop.account.description, itemCode: "premium-month", cents: 298)
      store.pay(made, .lightning)
    case (5..<8, let invoice?) where !status.hasPrefix("Settled"):
      let cents: Int64? = Bool.random(using: &random) ? 150 : nil
      store.pay(
        invoice, cents: cents, confirmingAfter: .minutes(Int64.random(in: 1...2000, using: &random))
      )
    case (8..<10, let invoice?) where !status.hasPrefix("Settled") || status.hasSuffix("Marked"):
      store.mark(invoice, isSettled: Bool.random(using: &random))
    case (10, let invoice?): store.archive(invoice)
    default: break
    }
  }

  private func told(_ coverage: Coverage) -> [String] {
    coverage.intervals.map { "\($0.planID) \($0.evidence.id) \($0.from)-\($0.to)" }.sorted()
  }

  private func told(_ truths: [BTCPayTruth]) -> [String] {
    truths.map { "\($0.product.plan) \($0.invoice) \($0.from)-\($0.to)" }.sorted()
  }

  @Test func `the fold is the sales oracle, over random lives in which everything is delivered`()
    throws
  {
    let seed = SeededGenerator.seed(of: "BTCPayFoldTests.lives")
    var random = SeededGenerator(seed: seed)
    for life in 0..<60 {
      let shop = Shop { $0.seed = UInt64(life) }
      var reader = Reader(shop)
      for step in 0..<30 {
        shop.go(.minutes(Int64.random(in: 1...20_000, using: &random)))
        act(shop, &random)
        while let delivery = shop.store.dueDelivery {
          let status = try reader.take(shop.store.request(for: delivery, at: shop.clock.now))
          shop.store.answered(delivery, status: status)
        }
        try reader.read()
        let (owed, sold) = (told(reader.coverage), told(shop.store.truths(of: Shop.account)))
        try #require(owed == sold, "life \(life), step \(step), seed \(seed)")
      }
    }
  }

  @Test func `where deliveries are lost, reads tell the same, as late as they came`() throws {
    let seed = SeededGenerator.seed(of: "BTCPayFoldTests.losses")
    var random = SeededGenerator(seed: seed)
    for life in 0..<60 {
      let shop = Shop { $0.seed = UInt64(life) }
      var reader = Reader(shop)
      for step in 0..<30 {
        shop.go(.minutes(Int64.random(in: 1...20_000, using: &random)))
        act(shop, &random)
        if Bool.random(using: &random) { shop.store.restart() }
        while let delivery = shop.store.dueDelivery {
          let isTaken = Bool.random(using: &random)
          let request = shop.store.request(for: delivery, at: shop.clock.now)
          shop.store.answered(delivery, status: isTaken ? try reader.take(request) : 404)
        }
        if Int.random(in: 0..<3, using: &random) == 0 {
          try reader.read()
          let owed = told(reader.coverage)
          try #require(
            owed == told(shop.store.truthsAsHeard(of: Shop.account)),
            "life \(life), step \(step), seed \(seed)")
        }
      }
    }
  }
}
