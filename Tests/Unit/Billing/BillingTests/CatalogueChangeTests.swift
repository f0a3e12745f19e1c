import Answers
import Base
import Billing
import KnownStores
import Ledger
import Storage
import StripeSamples
import Subscriptions
import TestEngines
import Testing
import Tiers

/// After the operator edits the catalogue, paying accounts never end up with nothing.
struct CatalogueChangeTests {
  private static let premium = Plan(
    id: "premium", title: "Premium", byteCount: 1000,
    products: [Plan.Product(provider: "stripe", id: "price_premium")])

  private func rules(
    _ version: String, _ plans: [Plan], ignored: [Plan.Product] = [], fallback: String? = nil
  ) throws -> LedgerRules {
    LedgerRules(
      catalogue: try Catalogue(
        version: version, free: Plan(id: "free", title: "Free", byteCount: 10), paid: plans,
        ignored: ignored, fallbackPlanID: fallback))
  }

  /// Billing that was started with the premium plan, and a customer who has paid for it.
  private func paid(_ engine: TestEngine) throws -> (Harness, Customer) {
    let harness = try Harness(engine, rules: rules("old", [Self.premium]))
    try harness.service().applyRules()
    let customer = try harness.subscriber()
    return (harness, customer)
  }

  private func now(_ harness: Harness, _ customer: Customer) throws -> String {
    let current = try harness.explanation(customer.account, at: day(1)).current
    return "\(current.planID) \(current.capByteCount) \(current.reason.rawValue)"
  }

  @Test(arguments: TestEngine.available)
  func `who pays for a plan that left the catalogue keeps it with its size`(
    engine: TestEngine
  ) throws {
    let (harness, customer) = try paid(engine)
    try harness.service(rules: rules("new", [])).applyRules()
    #expect(try now(harness, customer) == "premium 1000 subscribed")
  }

  @Test(arguments: TestEngine.available)
  func `a catalogue that was edited without a new version derives again, too`(
    engine: TestEngine
  ) throws {
    let (harness, customer) = try paid(engine)
    let larger = Plan(
      id: "premium", title: "Premium", byteCount: 5000, products: Self.premium.products)
    #expect(try harness.service(rules: rules("old", [larger])).applyRules() == 1)
    #expect(try now(harness, customer) == "premium 5000 subscribed")
  }

  @Test(arguments: TestEngine.available)
  func `who holds more than a plan that shrank leaves is told, until it grows again`(
    engine: TestEngine
  ) throws {
    let (harness, customer) = try paid(engine)
    try harness.fill(customer.account, byteCount: 700)
    func told() throws -> [Attention] {
      try harness.database.read { reader in
        try AttentionList(at: day(9), limit: 9, stores: .known, reading: reader)
      }.items
    }
    #expect(try told().isEmpty)
    for (number, size) in [500, 400].enumerated() {
      harness.set(day(Double(number + 1)))
      let plan = Plan(
        id: "premium", title: "Premium", byteCount: Int64(size), products: Self.premium.products)
      try harness.service(rules: rules("smaller", [plan])).applyRules()
      #expect(try told().map(\.kind) == [.overCap])
      #expect(try told().first?.since == day(1))
      #expect(try told().first?.detail == "700 B of \(size) B")
    }
    harness.set(day(3))
    try harness.service(rules: rules("old", [Self.premium])).applyRules()
    #expect(try told().isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `a product whose plan stays keeps the plan, at its present size`(engine: TestEngine) throws {
    let (harness, customer) = try paid(engine)
    let larger = Plan(id: "premium", title: "Premium", byteCount: 5000)
    try harness.service(rules: rules("new", [larger])).applyRules()
    #expect(try now(harness, customer) == "premium 5000 subscribed")
  }

  @Test(arguments: TestEngine.available)
  func `the fallback is for products that never were, not for those that left`(
    engine: TestEngine
  ) throws {
    let (harness, customer) = try paid(engine)
    let small = Plan(id: "small", title: "Small", byteCount: 20)
    try harness.service(rules: rules("new", [small], fallback: "small")).applyRules()
    #expect(try now(harness, customer) == "premium 1000 subscribed")
  }

  @Test(arguments: TestEngine.available)
  func `a product that is listed under another plan moves there`(engine: TestEngine) throws {
    let (harness, customer) = try paid(engine)
    let other = Plan(
      id: "basic", title: "Basic", byteCount: 500, products: Self.premium.products)
    try harness.service(rules: rules("new", [other])).applyRules()
    #expect(try now(harness, customer) == "basic 500 subscribed")
    #expect(try harness.count("SELECT count(*) FROM billing.unmapped_products") == 0)
  }

  @Test(arguments: TestEngine.available)
  func `a product that is ignored on purpose gives nothing, and did lapse`(
    engine: TestEngine
  ) throws {
    let (harness, customer) = try paid(engine)
    harness.set(day(1))
    try harness.service(rules: rules("new", [], ignored: Self.premium.products)).applyRules()
    #expect(try now(harness, customer) == "free 10 lapsed")
    try harness.service(rules: rules("newer", [])).applyRules()
    #expect(try now(harness, customer) == "free 10 lapsed")
  }

  @Test(arguments: TestEngine.available)
  func `a price keeps its plan though its product means another now`(engine: TestEngine) throws {
    let plus = Plan(
      id: "plus", title: "Plus", byteCount: 9000,
      products: [Plan.Product(provider: "stripe", id: "price_plus")])
    let harness = try Harness(engine, rules: rules("old", [Self.premium, plus]))
    try harness.service().applyRules()
    let customer = Customer(tag: harness.tag)
    try harness.post(customer.session())
    try harness.post(
      customer.invoice(1, "paid", 0) {
        $0.price = "price_plus"
        $0.product = "prod_all"
      })
    let premium = Plan(
      id: "premium", title: "Premium", byteCount: 1000,
      products: Self.premium.products + [Plan.Product(provider: "stripe", id: "prod_all")])
    try harness.service(rules: rules("new", [premium])).applyRules()
    #expect(try now(harness, customer) == "plus 9000 subscribed")
  }

  @Test(arguments: TestEngine.available)
  func `a plan that left raises an alarm with the product until it is listed again`(
    engine: TestEngine
  ) throws {
    let (harness, customer) = try paid(engine)
    let count = """
      SELECT count(*) FROM billing.unmapped_products WHERE provider = 'stripe'
        AND product = 'price_premium'
      """
    let changed = try rules("new", [])
    try harness.service(rules: changed).applyRules()
    #expect(try harness.count(count) == 1)
    try harness.service().applyRules()
    #expect(try harness.count(count) == 0)
    try harness.service(rules: changed).applyRules()
    // Later deliveries about the subscription do not change that.
    try harness.post(customer.invoice(2, "paid", 30, from: 30, to: 60))
    #expect(try harness.count(count) == 1)
    #expect(try harness.explanation(customer.account, at: day(35)).current.planID == "premium")
  }

  @Test(arguments: TestEngine.available)
  func `a grant of a plan that left keeps its size, and follows one that is resized`(
    engine: TestEngine
  ) throws {
    let old = try rules("old", [Self.premium])
    let harness = try Harness(engine, rules: old)
    let customer = Customer(tag: harness.tag)
    try harness.service().applyRules()
    try harness.database.write(for: nil) { transaction in
      _ = try Ledger(stores: .known, rules: old).decide(
        .grant(customer.account, planID: "premium", from: day0, until: nil, note: "friend"),
        at: day0, in: transaction)
    }
    try harness.service(rules: rules("new", [])).applyRules()
    #expect(try now(harness, customer) == "premium 1000 granted")
    let larger = Plan(id: "premium", title: "Premium", byteCount: 5000)
    try harness.service(rules: rules("newer", [larger])).applyRules()
    #expect(try now(harness, customer) == "premium 5000 granted")
  }

  @Test(arguments: TestEngine.available)
  func `a server that is no longer the newest derives under the newest one's rules`(
    engine: TestEngine
  ) throws {
    let (harness, customer) = try paid(engine)
    let larger = Plan(
      id: "premium", title: "Premium", byteCount: 5000, products: Self.premium.products)
    let newer = try rules("new", [larger])
    try harness.service(rules: newer).applyRules()
    // The harness posts to the server that was started first.
    try harness.post(customer.invoice(2, "paid", 20, from: 30, to: 60))
    #expect(try now(harness, customer) == "premium 5000 subscribed")
    #expect(try harness.service(rules: newer).applyRules() == 0)
    #expect(try harness.service().applyRules() == 1)
    #expect(try now(harness, customer) == "premium 1000 subscribed")
  }

  @Test(arguments: TestEngine.available)
  func `a server of another version has deliveries come again until it is stopped`(
    engine: TestEngine
  ) throws {
    let (harness, customer) = try paid(engine)
    var other = Policy.standard
    other.version = "another"
    try harness.service(rules: LedgerRules(policy: other, catalogue: catalogue)).applyRules()
    #expect(try harness.post(customer.invoice(2, "paid", 30, from: 30, to: 60)).status == 503)
    #expect(try harness.count("SELECT count(*) FROM billing.deliveries") == 3)
  }

  @Test(arguments: TestEngine.available)
  func `a server of an earlier version that starts once more stops no newer one`(
    engine: TestEngine
  ) throws {
    let (harness, customer) = try paid(engine)
    var earlier = Policy.standard
    earlier.version = "standard-1"
    let larger = Plan(
      id: "premium", title: "Premium", byteCount: 5000, products: Self.premium.products)
    let theirs = LedgerRules(policy: earlier, catalogue: try rules("new", [larger]).catalogue)
    try harness.service(rules: theirs).applyRules()
    let newer = harness.service()
    #expect(try newer.followRules() == 1)
    #expect(try newer.followRules() == 0)
    // The catalogue of record may have changed meanwhile, so only the policy is taken back.
    #expect(try now(harness, customer) == "premium 5000 subscribed")
    try harness.service(rules: theirs).applyRules()
    #expect(try harness.post(customer.invoice(2, "paid", 30, from: 30, to: 60)).status == 200)
    let policies =
      "SELECT count(*) FROM billing.subscriptions WHERE policy_version LIKE 'standard-1%'"
    #expect(try harness.count(policies) == 0)
  }

  @Test(arguments: TestEngine.available)
  func `every price that a product was listed at is kept, as long as it means something`(
    engine: TestEngine
  ) throws {
    func plan(_ amount: Int64) -> Plan {
      Plan(
        id: "premium", title: "Premium", byteCount: 1000,
        products: [
          Plan.Product(
            provider: "stripe", id: "price_premium",
            price: Plan.Price(amountMinorUnits: amount, currency: "usd", interval: .month))
        ])
    }
    let harness = try Harness(engine, rules: rules("1", [plan(299)]))
    try harness.service().applyRules()
    try harness.service(rules: rules("2", [plan(399)])).applyRules()
    try harness.service(rules: rules("3", [plan(299)])).applyRules()
    let sold = "SELECT count(*) FROM billing.sold_prices WHERE id = 'price_premium'"
    #expect(try harness.count(sold) == 2)
    try harness.service(rules: rules("4", [])).applyRules()
    #expect(try harness.count(sold) == 2)
    try harness.service(rules: rules("5", [], ignored: plan(1).products)).applyRules()
    #expect(try harness.count(sold) == 0)
  }

  @Test(arguments: TestEngine.available)
  func `a price whose product was listed before moves with it`(engine: TestEngine) throws {
    let price = Plan.Product(provider: "stripe", id: "price_premium", productID: "prod_premium")
    let product = Plan.Product(provider: "stripe", id: "prod_premium")
    let premium = Plan(
      id: "premium", title: "Premium", byteCount: 1000, products: [price, product])
    for (moved, ignored, expected) in [
      (
        [Plan(id: "basic", title: "Basic", byteCount: 500, products: [product])], [],
        "basic 500 subscribed"
      ),
      ([], [product], "free 10 lapsed"),
    ] {
      let harness = try Harness(engine, rules: rules("old", [premium]))
      try harness.service().applyRules()
      let customer = try harness.payer()
      harness.set(day(1))
      try harness.service(rules: rules("new", moved, ignored: ignored)).applyRules()
      #expect(try now(harness, customer) == expected)
    }
  }
}
