import Base
import BillingSimulation
import Flows
import Ledger
import ProviderFakes
import Subscriptions
import TestEngines
import Testing
import Tiers

/// A subscription that an operator gives to another account stays with its customer at Stripe.
struct TransferredPurchaseTests {
  private static let other = Identifier(high: 3, low: 4)

  private static var portal: Intention {
    var intention = Intention(.portal)
    intention.returnURL = "https://app.example/back"
    return intention
  }

  private func transfer(
    _ subscription: String, to account: Identifier, _ shop: BuyingShop
  ) throws {
    let key = ObjectKey(
      provider: .init("stripe"), environment: .live, kind: .subscription, id: subscription)
    try shop.installation.decide { ledger, transaction, now in
      try ledger.decide(.transfer(account, key, note: "support"), at: now, in: transaction)
    }
  }

  private func done(_ intention: Intention, _ shop: BuyingShop) throws -> Flow {
    try shop.finish(try shop.ask(intention).id)
  }

  /// A shop whose account gave its subscription away, an hour ago.
  private func given() throws -> BuyingShop {
    let shop = try BuyingShop(.sqlite)
    try #require(try done(.subscribe("pm_card_visa"), shop).status == .done)
    try transfer(try #require(shop.current.first), to: Self.other, shop)
    shop.installation.now = shop.installation.now + .hours(1)
    return shop
  }

  /// A shop whose account got a subscription of another account, with which that one bought a second if it keeps one.
  private func received(othersKeep: Bool) throws -> (shop: BuyingShop, customer: String) {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    let subscription = shop.stripe.buy(account: Self.other)
    let customer = shop.stripe.customer(of: subscription)
    if othersKeep { _ = shop.stripe.buy(account: Self.other, customer: customer) }
    try shop.pass(.hours(1))
    try transfer(subscription, to: shop.account, shop)
    return (shop, customer)
  }

  @Test func `its former owner buys again, as another customer`() throws {
    let shop = try given()
    #expect(try done(.subscribe("pm_card_visa"), shop).status == .done)
    #expect(shop.current.count == 2)
    #expect(shop.stripe.customerCount == 2)
  }

  /// Stripe forgets after a day what was asked under a key, so a server that comes back later looks for the customer.
  @Test func `its former owner buys as another customer even after an outage`() throws {
    let shop = try given()
    let begun = try shop.ask(.subscribe("pm_card_visa"))
    shop.installation.now = shop.installation.now + .days(1)
    #expect(try shop.finish(begun.id).status == .done)
    #expect(shop.stripe.customerCount == 2)
  }

  @Test func `its former owner no longer opens its page`() throws {
    let shop = try given()
    let problem = #expect(throws: FlowProblem.self) { try shop.ask(Self.portal) }
    #expect(problem?.code == .noCustomer)
  }

  @Test func `its new owner opens its page if nothing there is another account's`() throws {
    let (shop, _) = try received(othersKeep: false)
    #expect(try shop.actions.contains("portal"))
    #expect(try done(Self.portal, shop).status == .done)
  }

  @Test func `its new owner does not open the page with another account's subscription`() throws {
    let (shop, _) = try received(othersKeep: true)
    #expect(try shop.actions == ["change", "cancel", "card"])
    let problem = #expect(throws: FlowProblem.self) { try shop.ask(Self.portal) }
    #expect(problem?.code == .noCustomer)
  }

  @Test func `its new owner's card does not pay for another account's subscription`() throws {
    let (shop, customer) = try received(othersKeep: true)
    #expect(try done(.card("pm_card_mastercard"), shop).status == .done)
    #expect(!shop.way.calls.contains("POST https://stripe.fake/v1/customers/\(customer)"))
  }
}
