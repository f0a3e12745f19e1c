import BillingSimulation
import Flows
import JSON
import ProviderFakes
import TestEngines
import Testing
import Tiers

/// Purchases after another catalogue was applied while the server that sells is running.
struct FlowCatalogueTests {
  static func plan(_ id: String, _ byteCount: Int64, _ price: StripePrice) -> Plan {
    Plan(
      id: id, title: id, byteCount: byteCount,
      products: [
        Plan.Product(
          provider: "stripe", id: price.id,
          price: Plan.Price(amountMinorUnits: price.amount, currency: "usd", interval: .month),
          productID: price.product)
      ])
  }

  /// A shop that was started with premium and plus, and to which these plans were applied since.
  private func shop(_ engine: TestEngine = .sqlite, selling plans: [Plan]) throws -> BuyingShop {
    let shop = try BuyingShop(engine)
    try apply(plans, to: shop)
    return shop
  }

  private func apply(_ plans: [Plan], to shop: BuyingShop) throws {
    try shop.installation.apply(
      Catalogue(
        version: "applied", free: Plan(id: "free", title: "Free", byteCount: 10), paid: plans))
  }

  @Test(arguments: TestEngine.available)
  func `a plan that an applied catalogue brought is sold at once`(engine: TestEngine) throws {
    let shop = try shop(engine, selling: [Self.plan("gold", 7000, .plusMonthly)])
    #expect(
      try shop.finish(try shop.ask(.subscribe("pm_card_visa", plan: "gold")).id).status == .done)
    #expect(try shop.plan == "gold")
  }

  @Test func `a plan that an applied catalogue took away is sold no more`() throws {
    let shop = try shop(selling: [Self.plan("premium", 500, .premiumMonthly)])
    let problem = #expect(throws: FlowProblem.self) {
      try shop.ask(.subscribe("pm_card_visa", plan: "plus"))
    }
    #expect(problem?.code == .planUnknown)
  }

  @Test func `a plan that shrank is not sold at the price of what it was`() throws {
    let shop = try shop(selling: [Self.plan("premium", 500, .plusMonthly)])
    _ = try shop.finish(try shop.ask(.subscribe("pm_card_visa")).id)
    #expect(shop.stripe.price(of: try #require(shop.current.first)) == .plusMonthly)
    #expect(try shop.installation.overview(of: shop.account)["cap"].integer == 500)
  }

  @Test func `who has a plan that is sold no more changes to another one`() throws {
    let shop = try BuyingShop(.sqlite)
    _ = try shop.finish(try shop.ask(.subscribe("pm_card_visa", plan: "plus")).id)
    try apply([Self.plan("premium", 500, .premiumMonthly)], to: shop)
    #expect(try shop.plan == "plus")
    let flow = try shop.finish(try shop.ask(.change(to: "premium")).id)
    #expect(flow.status == .done)
    #expect(
      shop.stripe.scheduledPrice(of: try #require(shop.current.first)) == .premiumMonthly)
  }

  @Test func `an account without a purchase is told the free plan that was applied`() throws {
    let shop = try shop(selling: [])
    #expect(try shop.installation.overview(of: shop.account)["cap"].integer == 10)
    #expect(try shop.actions.isEmpty)
  }
}
