import Base
import BillingSimulation
import Flows
import JSON
import ProviderFakes
import TestEngines
import Testing

/// A paused subscription continues when its customer wants it to, and not before it is paid.
struct FlowPauseTests {
  private func paused(_ reason: StripePause, _ card: StripeCard = .works) throws
    -> (shop: BuyingShop, subscription: String)
  {
    let shop = try BuyingShop(.sqlite)
    let flow = try shop.finish(try shop.ask(.subscribe("pm_card_visa")).id)
    try #require(flow.status == .done)
    shop.delivers = true
    let subscription = try #require(shop.current.first)
    shop.stripe.setCard(of: subscription, card)
    shop.stripe.pause(subscription, reason)
    try shop.pass(.hours(1))
    try #require(shop.stripe.status(of: subscription) == "paused")
    return (shop, subscription)
  }

  private func done(_ intention: Intention, _ shop: BuyingShop) throws -> Flow {
    try shop.finish(try shop.ask(intention).id)
  }

  @Test func `who asked for the pause ends it, and pays for the period that begins`() throws {
    let (shop, subscription) = try paused(.requested)
    #expect(try shop.plan == "free")
    #expect(try done(Intention(.resume), shop).status == .done)
    #expect(shop.stripe.status(of: subscription) == "active")
    #expect(try shop.plan == "premium")
    #expect(shop.stripe.chargeCount == 2)
  }

  @Test func `a card that is declined leaves the pause, and nothing is paid`() throws {
    let (shop, subscription) = try paused(.requested, .declines)
    let flow = try done(Intention(.resume), shop)
    #expect(flow.problem?.code == .cardDeclined)
    #expect(shop.stripe.status(of: subscription) == "paused")
    #expect(try shop.plan == "free")
    #expect(shop.stripe.chargeCount == 1)
    shop.stripe.setCard(of: subscription, .works)
    #expect(try done(Intention(.resume), shop).status == .done)
    #expect(shop.stripe.chargeCount == 2)
    #expect(try shop.plan == "premium")
  }

  @Test func `a bank that asks is answered before the pause ends`() throws {
    let (shop, subscription) = try paused(.requested, .needsConfirmation)
    let begun = try shop.ask(Intention(.resume))
    try shop.settle()
    #expect(try shop.flow(begun.id).status == .requiresAction)
    #expect(shop.stripe.status(of: subscription) == "paused")
    #expect(try shop.finish(begun.id).status == .done)
    #expect(shop.stripe.status(of: subscription) == "active")
  }

  @Test func `a bank that takes days ends the pause once it has paid`() throws {
    let (shop, subscription) = try paused(.requested, .debits)
    #expect(try done(Intention(.resume), shop).status == .done)
    #expect(shop.stripe.status(of: subscription) == "paused")
    try shop.pass(.hours(5))
    shop.stripe.setCard(of: subscription, .works)
    shop.stripe.pay(invoice: shop.stripe.latestInvoice(of: subscription))
    try shop.pass(.hours(1))
    #expect(shop.stripe.status(of: subscription) == "active")
    #expect(try shop.plan == "premium")
    #expect(shop.stripe.chargeCount == 2)
  }

  @Test(arguments: [false, true])
  func `who gives a resumption up still owes what was not paid before the pause`(
    isAddition: Bool
  ) throws {
    let shop = try BuyingShop(.sqlite)
    try #require(try done(.subscribe("pm_card_visa"), shop).status == .done)
    shop.delivers = true
    let subscription = try #require(shop.current.first)
    shop.stripe.setCard(of: subscription, .needsConfirmation)
    if isAddition {
      shop.stripe.add(.extraMonthly, to: subscription)
    } else {
      try shop.pass(shop.stripe.periodEnd(of: subscription) + .hours(3) - shop.installation.now)
    }
    shop.stripe.pause(subscription, .firstPaymentFailure)
    try shop.pass(.minutes(2))
    let begun = try shop.ask(Intention(.resume))
    try shop.settle()
    try #require(try shop.flow(begun.id).status == .requiresAction)
    _ = try shop.giveUp(begun)
    #expect(try shop.finish(begun.id).problem?.code == .givenUp)
    let invoice = shop.stripe.latestInvoice(of: subscription)
    #expect(shop.stripe.status(ofInvoice: invoice) == "open")
  }

  @Test func `the card that a trial lacked ends its pause`() throws {
    let (shop, subscription) = try paused(.trialEnd, .declines)
    #expect(try done(.card("pm_card_visa"), shop).status == .done)
    #expect(shop.stripe.status(of: subscription) == "active")
    #expect(shop.stripe.chargeCount == 2)
  }

  @Test func `another card does not end the pause that was asked for`() throws {
    let (shop, subscription) = try paused(.requested)
    #expect(try done(.card("pm_card_visa"), shop).status == .done)
    #expect(shop.stripe.status(of: subscription) == "paused")
    #expect(shop.stripe.chargeCount == 1)
  }

  @Test func `what is not paused goes on, and is not paid for again`() throws {
    let (shop, _) = try paused(.requested)
    _ = try done(Intention(.resume), shop)
    shop.installation.now = shop.installation.now + .hours(1)
    #expect(try done(Intention(.resume), shop).status == .done)
    #expect(shop.stripe.chargeCount == 2)
  }

  @Test func `who buys while paused is told to resume or to cancel`() throws {
    let (shop, _) = try paused(.requested)
    let refusal = #expect(throws: FlowProblem.self) { try shop.ask(.checkout()) }
    #expect(refusal?.code == .alreadySubscribed)
    #expect(refusal?.members.first { $0.name == "choices" }?.value == ["resume", "cancel"])
  }

  @Test func `what can be done is told as it becomes possible`() throws {
    let (shop, subscription) = try paused(.requested)
    #expect(try shop.actions == ["resume", "cancel", "portal"])
    _ = try done(Intention(.resume), shop)
    #expect(try shop.actions == ["change", "cancel", "card", "portal"])
    _ = try done(Intention(.cancel), shop)
    #expect(try shop.actions == ["change", "uncancel", "card", "portal"])
    shop.stripe.delete(subscription)
    try shop.pass(.days(3))
    #expect(try shop.actions == ["resubscribe"])
    #expect(try BuyingShop(.sqlite).actions == ["subscribe"])
  }
}
