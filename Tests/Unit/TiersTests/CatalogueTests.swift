import Testing
import Tiers

struct CatalogueTests {
  private let free = Plan(id: "free", title: "Free", byteCount: 10)
  private let small = Plan(
    id: "small", title: "Small", byteCount: 100,
    products: [
      Plan.Product(provider: "stripe", id: "price_s"),
      Plan.Product(provider: "stripe", id: "prod_s"),
    ])
  private let large = Plan(
    id: "large", title: "Large", byteCount: 1000,
    products: [Plan.Product(provider: "stripe", id: "price_l")])

  private func catalogue() throws -> Catalogue {
    try Catalogue(
      version: "1", free: free, paid: [large, small],
      ignored: [Plan.Product(provider: "stripe", id: "prod_shirt")])
  }

  @Test func `a price wins over its product`() throws {
    let mapping = try catalogue().mapping(provider: "stripe", price: "price_l", product: "prod_s")
    #expect(mapping == .plan(large))
  }

  @Test func `an unknown price of a known product is that product's plan`() throws {
    let mapping = try catalogue().mapping(provider: "stripe", price: "price_x", product: "prod_s")
    #expect(mapping == .plan(small))
  }

  @Test func `a shirt is ignored and anything else is unknown`() throws {
    let catalogue = try catalogue()
    #expect(catalogue.mapping(provider: "stripe", price: nil, product: "prod_shirt") == .ignored)
    #expect(catalogue.mapping(provider: "stripe", price: "p", product: "q") == .unknown)
    #expect(catalogue.mapping(provider: "apple", price: "price_l", product: nil) == .unknown)
  }

  @Test func `what a price costs comes before what it cost, the dearest first`() throws {
    func product(_ amount: Int64, _ currency: String = "eur") -> Plan.Product {
      Plan.Product(
        provider: "btcpay", id: "year",
        price: Plan.Price(amountMinorUnits: amount, currency: currency, interval: .year))
    }
    func plan(_ products: [Plan.Product]) -> Plan {
      Plan(id: "paid", title: "Paid", byteCount: 100, products: products)
    }
    let catalogue = try Catalogue(version: "1", free: free, paid: [plan([product(300)])])
      .keeping([plan([product(200), product(300), product(400)])])
    #expect(
      catalogue.prices(provider: "btcpay", id: "year").map(\.amountMinorUnits) == [300, 400, 200])
    #expect(catalogue.prices(provider: "btcpay", id: "month") == [])
    let emptied = try Catalogue(version: "2", free: free, paid: []).keeping([
      plan([product(200), product(200, "usd")])
    ])
    #expect(emptied.prices(provider: "btcpay", id: "year").map(\.currency) == ["eur", "usd"])
  }

  @Test func `plans that fit come smallest first`() throws {
    #expect(try catalogue().plansThatFit(50, beside: 10).map(\.id) == ["small", "large"])
    #expect(try catalogue().plansThatFit(100, beside: 10).map(\.id) == ["small", "large"])
    #expect(try catalogue().plansThatFit(1001, beside: 10).isEmpty)
  }

  @Test func `an addition fits where it is enough on top of what there is`() throws {
    let extra = Plan(id: "extra", title: "Extra", byteCount: 50, isAddition: true)
    let catalogue = try Catalogue(version: "1", free: free, paid: [extra, large, small])
    #expect(catalogue.plansThatFit(60, beside: 10).map(\.id) == ["extra", "small", "large"])
    #expect(catalogue.plansThatFit(61, beside: 10).map(\.id) == ["small", "large"])
    #expect(catalogue.plansThatFit(1050, beside: 1000).map(\.id) == ["extra"])
  }

  @Test func `a price that another catalogue changes, adds or takes away is told by its plan`()
    throws
  {
    func catalogue(_ amounts: [String: [Int64]]) throws -> Catalogue {
      try Catalogue(
        version: "1", free: free,
        paid: amounts.map { id, amounts in
          Plan(
            id: id, title: id, byteCount: 100,
            prices: amounts.map {
              Plan.Price(amountMinorUnits: $0, currency: "usd", interval: .month)
            })
        })
    }
    let changes = try catalogue(["a": [1], "b": [2], "c": [3, 4], "gone": [5]])
      .priceChanges(to: catalogue(["a": [9], "b": [], "c": [4, 3], "new": [6]]))
    #expect(changes.map(\.planID) == ["a", "b"])
    #expect(changes.map { $0.before.map(\.amountMinorUnits) } == [[1], [2]])
    #expect(changes.map { $0.after.map(\.amountMinorUnits) } == [[9], []])
  }

  @Test func `the default is what the founding document says`() {
    #expect(Catalogue.standard.free.byteCount == 1_000_000)
    #expect(Catalogue.standard.plan("premium")?.byteCount == 30_000_000_000)
    #expect(Catalogue.standard.metadataFeeByteCount == 1000)
  }

  @Test func `a provider id that stands for two plans is refused`() {
    let other = Plan(
      id: "other", title: "Other", byteCount: 5,
      products: [Plan.Product(provider: "stripe", id: "price_s")])
    #expect(throws: CatalogueError.duplicateProduct("price_s")) {
      try Catalogue(version: "1", free: free, paid: [small, other])
    }
  }

  @Test func `a provider id both sold and ignored is refused`() {
    #expect(throws: CatalogueError.duplicateProduct("price_l")) {
      try Catalogue(
        version: "1", free: free, paid: [large],
        ignored: [Plan.Product(provider: "stripe", id: "price_l")])
    }
  }

  @Test func `duplicate plans, unknown fallbacks and negative sizes are refused`() {
    #expect(throws: CatalogueError.duplicatePlan("free")) {
      try Catalogue(version: "1", free: free, paid: [free])
    }
    #expect(throws: CatalogueError.unknownFallback("huge")) {
      try Catalogue(version: "1", free: free, paid: [], fallbackPlanID: "huge")
    }
    #expect(throws: CatalogueError.negativeSize(plan: "minus")) {
      try Catalogue(
        version: "1", free: Plan(id: "minus", title: "", byteCount: -1), paid: [])
    }
  }
}
