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

  /// A payer of the middle one of three plans, whose change to the smallest waits.
  private func waiting() throws -> (shop: BuyingShop, subscription: String) {
    let shop = try BuyingShop.withThreePlans()
    for wish in [Intention.subscribe("pm_card_visa", plan: "middle"), .change(to: "small")] {
      try #require(try done(wish, shop).status == .done)
    }
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

  @Test func `what is added while a smaller plan waits stays, and goes on with it`() throws {
    let (shop, subscription) = try subscribed()
    #expect(try done(.change(to: "premium"), shop).status == .done)
    shop.stripe.add(.extraMonthly, to: subscription)
    try shop.pass(.minutes(20))
    #expect(shop.stripe.prices(of: subscription) == [.plusMonthly, .extraMonthly])
    try turn(subscription, shop)
    #expect(shop.stripe.prices(of: subscription) == [.premiumMonthly, .extraMonthly])
  }

  @Test func `what is added while a smaller plan waits and is paid later goes on with it, too`()
    throws
  {
    let (shop, subscription) = try subscribed()
    #expect(try done(.change(to: "premium"), shop).status == .done)
    shop.stripe.setCard(of: subscription, .declines)
    shop.stripe.add(.extraMonthly, to: subscription)
    try shop.pass(.hours(1))
    shop.stripe.setCard(of: subscription, .works)
    shop.stripe.pay(invoice: shop.stripe.latestInvoice(of: subscription))
    try shop.pass(.hours(1))
    try turn(subscription, shop)
    #expect(shop.stripe.prices(of: subscription) == [.premiumMonthly, .extraMonthly])
  }

  @Test func `what is added while a smaller plan waits goes on with it though no delivery came`()
    throws
  {
    let (shop, subscription) = try subscribed()
    #expect(try done(.change(to: "premium"), shop).status == .done)
    try shop.pass(.hours(1))
    shop.delivers = false
    shop.stripe.add(.extraMonthly, to: subscription)
    try shop.installation.reconcile(isWhole: false)
    try turn(subscription, shop)
    #expect(shop.stripe.prices(of: subscription) == [.premiumMonthly, .extraMonthly])
  }

  @Test func `what is added makes nobody pay for the waiting plan if it became the larger one`()
    throws
  {
    let shop = try BuyingShop.withThreePlans()
    for wish in [Intention.subscribe("pm_card_visa", plan: "large"), .change(to: "middle")] {
      try #require(try done(wish, shop).status == .done)
    }
    let subscription = try #require(shop.current.first)
    shop.delivers = true
    try shop.pass(.hours(1))
    shop.stripe.add(.extraMonthly, to: subscription)
    try shop.runDue()
    let problem = #expect(throws: FlowProblem.self) { try shop.ask(Intention(.cancel)) }
    #expect(problem?.code == .flowOpen)
    shop.stripe.changePrice(of: subscription, to: .premiumMonthly)
    try shop.settle()
    #expect(shop.stripe.price(of: subscription) == .premiumMonthly)
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

  /// Stripe forgets after a day what was asked under a key.
  @Test func `a schedule whose answer was lost for a day is found, and none is made beside it`()
    throws
  {
    let (shop, subscription) = try subscribed()
    // The call after the one that looks at the subscription.
    shop.way.plan(.lostAnswer, atCall: shop.way.callCount + 1)
    let begun = try shop.ask(.change(to: "premium"))
    try shop.step()
    try #require(shop.way.calls.last == "POST https://stripe.fake/v1/subscription_schedules")
    shop.installation.now = shop.installation.now + .days(1)
    #expect(try shop.finish(begun.id).status == .done)
    #expect(shop.stripe.scheduledPrice(of: subscription) == .premiumMonthly)
  }

  @Test func `another smaller plan takes the place of the one that waits`() throws {
    let (shop, subscription) = try subscribed()
    #expect(try done(.change(to: "premium", .year), shop).status == .done)
    #expect(shop.stripe.scheduledPrice(of: subscription) == .premiumYearly)
    #expect(try done(.change(to: "premium"), shop).status == .done)
    #expect(shop.stripe.scheduledPrice(of: subscription) == .premiumMonthly)
  }

  @Test func `a larger plan takes the place of the smaller one that waits`() throws {
    let (shop, subscription) = try waiting()
    #expect(try done(.change(to: "large"), shop).status == .done)
    #expect(shop.stripe.price(of: subscription) == .plusMonthly)
    #expect(shop.stripe.scheduledPrice(of: subscription) == nil)
  }

  @Test(arguments: [true, false])
  func `a larger plan takes that place even if Stripe changes no plan under a schedule`(
    asks: Bool
  ) throws {
    let (shop, subscription) = try waiting()
    shop.stripe.refuseScheduledChanges()
    if asks { shop.stripe.setCard(of: subscription, .needsConfirmation) }
    #expect(try done(.change(to: "large"), shop).status == .done)
    #expect(shop.stripe.price(of: subscription) == .plusMonthly)
    #expect(shop.stripe.scheduledPrice(of: subscription) == nil)
  }

  @Test func `a larger plan whose payment is declined leaves the smaller one that waits`() throws {
    let (shop, subscription) = try waiting()
    shop.stripe.setCard(of: subscription, .declines)
    #expect(try done(.change(to: "large"), shop).problem?.code == .cardDeclined)
    #expect(shop.stripe.scheduledPrice(of: subscription) == .premiumMonthly)
  }

  @Test func `a larger plan without a card leaves the smaller one that waits`() throws {
    let (shop, subscription) = try waiting()
    shop.stripe.setCard(of: subscription, .missing)
    #expect(try done(.change(to: "large"), shop).problem?.code == .stripeRefused)
    #expect(shop.stripe.scheduledPrice(of: subscription) == .premiumMonthly)
  }

  @Test func `a larger plan that is given up leaves the smaller one that waits`() throws {
    let (shop, subscription) = try waiting()
    shop.stripe.setCard(of: subscription, .needsConfirmation)
    let begun = try shop.ask(.change(to: "large"))
    try shop.settle()
    _ = try shop.giveUp(begun)
    #expect(try shop.finish(begun.id).problem?.code == .givenUp)
    #expect(shop.stripe.scheduledPrice(of: subscription) == .premiumMonthly)
  }

  @Test func `a larger plan that the bank asks about takes the smaller one off once it is paid`()
    throws
  {
    let (shop, subscription) = try waiting()
    shop.stripe.setCard(of: subscription, .needsConfirmation)
    let begun = try shop.ask(.change(to: "large"))
    try shop.settle()
    #expect(try shop.flow(begun.id).status == .requiresAction)
    #expect(shop.stripe.scheduledPrice(of: subscription) == .premiumMonthly)
    #expect(try shop.finish(begun.id).status == .done)
    #expect(shop.stripe.price(of: subscription) == .plusMonthly)
    #expect(shop.stripe.scheduledPrice(of: subscription) == nil)
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

  @Test func `who undoes a cancellation has the smaller plan that waited before it`() throws {
    let (shop, subscription) = try subscribed()
    #expect(try done(.change(to: "premium"), shop).status == .done)
    #expect(try done(Intention(.cancel), shop).status == .done)
    #expect(shop.stripe.scheduledPrice(of: subscription) == nil)
    #expect(try done(Intention(.uncancel), shop).status == .done)
    #expect(!shop.stripe.isCancelling(subscription))
    #expect(shop.stripe.scheduledPrice(of: subscription) == .premiumMonthly)
  }

  @Test func `who takes a smaller plan back before a cancellation does not get it by undoing that`()
    throws
  {
    let (shop, subscription) = try subscribed()
    for wish in [Intention.change(to: "premium"), .change(to: "plus"), Intention(.cancel)] {
      #expect(try done(wish, shop).status == .done)
    }
    #expect(try done(Intention(.uncancel), shop).status == .done)
    #expect(shop.stripe.scheduledPrice(of: subscription) == nil)
  }

  @Test func `a smaller plan whose time went by does not come back`() throws {
    let (shop, subscription) = try subscribed()
    #expect(try done(.change(to: "premium"), shop).status == .done)
    #expect(try done(Intention(.cancel), shop).status == .done)
    shop.stripe.uncancel(subscription)
    try turn(subscription, shop)
    shop.stripe.cancel(subscription)
    #expect(try done(Intention(.uncancel), shop).status == .done)
    #expect(!shop.stripe.isCancelling(subscription))
    #expect(shop.stripe.scheduledPrice(of: subscription) == nil)
  }

  @Test func `who cancels takes off what the operator planned`() throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.schedulePrice(of: subscription, .premiumYearly)
    #expect(try done(Intention(.cancel), shop).status == .done)
    #expect(shop.stripe.isCancelling(subscription))
  }
}

extension BuyingShop {
  /// A shop with three plans: the middle one has a smaller and a larger one beside it.
  static func withThreePlans() throws -> BuyingShop {
    let shop = try BuyingShop(.sqlite)
    try shop.installation.apply(
      Catalogue(
        version: "applied", free: Plan(id: "free", title: "Free", byteCount: 10),
        paid: [
          FlowCatalogueTests.plan("small", 500, .premiumMonthly),
          FlowCatalogueTests.plan("middle", 1000, .supportMonthly),
          FlowCatalogueTests.plan("large", 2000, .plusMonthly),
        ]))
    return shop
  }
}
