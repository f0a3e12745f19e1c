import Base
import BillingSimulation
import Flows
import JSON
import ProviderFakes
import TestEngines
import Testing
import Tiers

/// A smaller plan waits for the period's end. Until then, and in everything else, the subscription stays as it is.
struct FlowScheduleTests {
  private func subscribed() throws -> (shop: BuyingShop, subscription: String) {
    let shop = try BuyingShop(.sqlite)
    let flow = try shop.finish(try shop.ask(.subscribe("pm_card_visa", plan: "plus")).id)
    try #require(flow.status == .done)
    shop.delivers = true
    return (shop, try #require(shop.current.first))
  }

  private func done(_ intention: Intention, _ shop: BuyingShop) throws -> Flow {
    try shop.finish(try shop.ask(intention).id)
  }

  /// Lets the subscription's period end, and the next one be paid.
  private func turn(_ subscription: String, _ shop: BuyingShop) throws {
    try shop.pass(shop.stripe.periodEnd(of: subscription) + .hours(3) - shop.installation.now)
  }

  @Test func `what was added to the plan stays, and goes on with the smaller one`() throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.add(.extraMonthly, to: subscription)
    try shop.pass(.hours(1))
    #expect(try done(.change(to: "premium"), shop).status == .done)
    #expect(shop.stripe.prices(of: subscription) == [.plusMonthly, .extraMonthly])
    try turn(subscription, shop)
    #expect(shop.stripe.prices(of: subscription) == [.premiumMonthly, .extraMonthly])
  }

  @Test func `a trial goes on to its end, and the smaller plan is what is paid then`() throws {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    let subscription = shop.stripe.subscribe(
      customer: shop.stripe.addCustomer(), account: shop.account, .plusMonthly, trialDays: 14)
    try shop.pass(.hours(1))
    let end = shop.stripe.periodEnd(of: subscription)
    #expect(try done(.change(to: "premium"), shop).status == .done)
    #expect(shop.stripe.isTrialing(subscription))
    #expect(shop.stripe.periodEnd(of: subscription) == end)
    #expect(try shop.plan == "plus")
    #expect(shop.stripe.chargeCount == 0)
    try turn(subscription, shop)
    #expect(shop.stripe.prices(of: subscription) == [.premiumMonthly])
    #expect(shop.stripe.chargeCount == 1)
    #expect(try shop.plan == "premium")
  }

  @Test func `a discount stays, in this period and in the next`() throws {
    let (shop, subscription) = try subscribed()
    let discount = shop.stripe.discount(subscription)
    #expect(try done(.change(to: "premium"), shop).status == .done)
    #expect(shop.stripe.discounts(of: subscription) == [discount])
    try turn(subscription, shop)
    #expect(shop.stripe.price(of: subscription) == .premiumMonthly)
    #expect(shop.stripe.discounts(of: subscription) == [discount])
  }

  @Test func `a card that is set while a smaller plan waits pays for it`() throws {
    let (shop, subscription) = try subscribed()
    let first = shop.stripe.paymentMethod(of: subscription)
    #expect(try done(.change(to: "premium", .year), shop).status == .done)
    #expect(try done(.card("pm_card_mastercard"), shop).status == .done)
    let second = shop.stripe.paymentMethod(of: subscription)
    #expect(second != first)
    #expect(try done(.change(to: "premium"), shop).status == .done)
    #expect(shop.stripe.paymentMethod(of: subscription) == second)
    try turn(subscription, shop)
    #expect(shop.stripe.price(of: subscription) == .premiumMonthly)
    #expect(shop.stripe.paymentMethod(of: subscription) == second)
  }

  @Test func `another smaller plan takes the place of the one that waits`() throws {
    let (shop, subscription) = try subscribed()
    #expect(try done(.change(to: "premium", .year), shop).status == .done)
    #expect(shop.stripe.scheduledPrice(of: subscription) == .premiumYearly)
    #expect(try done(.change(to: "premium"), shop).status == .done)
    #expect(shop.stripe.scheduledPrice(of: subscription) == .premiumMonthly)
  }

  @Test(arguments: ["premium", "plus"])
  func `what the operator planned at Stripe is not overwritten`(plan: String) throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.schedulePrice(of: subscription, .premiumYearly)
    let problem = try done(.change(to: plan), shop).problem
    #expect(problem?.code == .stripeRefused)
    #expect(
      problem?.members.first { $0.name == "stripe_code" }?.value == "schedule_made_elsewhere")
    #expect(shop.stripe.scheduledPrice(of: subscription) == .premiumYearly)
  }

  @Test func `who cancels takes off what the operator planned`() throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.schedulePrice(of: subscription, .premiumYearly)
    #expect(try done(Intention(.cancel), shop).status == .done)
    #expect(shop.stripe.isCancelling(subscription))
  }
}
