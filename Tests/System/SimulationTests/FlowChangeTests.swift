import HTTPMessages
import Base
import BillingSimulation
import Flows
import JSON
import ProviderFakes
import TestEngines
import Testing
import Tiers

/// Changes of a subscription, and pages on which one is bought.
struct FlowChangeTests {
  private func subscribed(_ method: String = "pm_card_visa", plan: String = "premium") throws
    -> (shop: BuyingShop, subscription: String)
  {
    let shop = try BuyingShop(.sqlite)
    let flow = try shop.finish(try shop.ask(.subscribe(method, plan: plan)).id)
    try #require(flow.status == .done)
    return (shop, try #require(shop.current.first))
  }

  private func done(_ intention: Intention, _ shop: BuyingShop) throws -> Flow {
    try shop.finish(try shop.ask(intention).id)
  }

  @Test func `a larger plan holds at once`() throws {
    let (shop, subscription) = try subscribed()
    #expect(try done(.change(to: "plus"), shop).status == .done)
    #expect(try shop.plan == "plus")
    #expect(shop.stripe.price(of: subscription) == .plusMonthly)
    #expect(shop.stripe.chargeCount == 2)
  }

  @Test func `a year instead of a month begins at once`() throws {
    let (shop, subscription) = try subscribed()
    #expect(try done(.change(to: "premium", .year), shop).status == .done)
    #expect(shop.stripe.price(of: subscription) == .premiumYearly)
    #expect(try shop.plan == "premium")
  }

  @Test func `a smaller plan waits for the period's end`() throws {
    let (shop, subscription) = try subscribed(plan: "plus")
    #expect(try done(.change(to: "premium"), shop).status == .done)
    #expect(try shop.plan == "plus")
    #expect(shop.stripe.scheduledPrice(of: subscription) == .premiumMonthly)
    shop.delivers = true
    installationRuns(shop, until: shop.stripe.periodEnd(of: subscription) + .hours(3))
    try shop.runDue()
    #expect(shop.stripe.price(of: subscription) == .premiumMonthly)
    #expect(try shop.plan == "premium")
  }

  private func installationRuns(_ shop: BuyingShop, until moment: Instant) {
    shop.stripe.run(until: moment)
    shop.installation.now = moment
  }

  @Test func `a smaller plan that waits is taken back by asking for the plan that is`() throws {
    let (shop, subscription) = try subscribed(plan: "plus")
    _ = try done(.change(to: "premium"), shop)
    #expect(try done(.change(to: "plus"), shop).status == .done)
    #expect(shop.stripe.scheduledPrice(of: subscription) == nil)
    #expect(shop.stripe.chargeCount == 1)
  }

  @Test func `a larger plan whose payment is declined changes nothing`() throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.setCard(of: subscription, .declines)
    let flow = try done(.change(to: "plus"), shop)
    #expect(flow.problem?.code == .cardDeclined)
    #expect(shop.stripe.price(of: subscription) == .premiumMonthly)
    #expect(shop.stripe.status(of: subscription) == "active")
    #expect(try shop.plan == "premium")
  }

  @Test func `a larger plan that the bank asks about waits for the answer`() throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.setCard(of: subscription, .needsConfirmation)
    let begun = try shop.ask(.change(to: "plus"))
    try shop.settle()
    #expect(try shop.flow(begun.id).status == .requiresAction)
    #expect(try shop.plan == "premium")
    #expect(try shop.finish(begun.id).status == .done)
    #expect(try shop.plan == "plus")
  }

  @Test func `a larger plan that is given up leaves the plan as it was`() throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.setCard(of: subscription, .needsConfirmation)
    let begun = try shop.ask(.change(to: "plus"))
    try shop.settle()
    _ = try shop.giveUp(begun)
    #expect(try shop.finish(begun.id).problem?.code == .givenUp)
    #expect(shop.stripe.price(of: subscription) == .premiumMonthly)
    #expect(shop.stripe.status(of: subscription) == "active")
  }

  @Test func `a cancelled subscription runs to its end, and can be resumed until then`() throws {
    let (shop, subscription) = try subscribed()
    #expect(try done(Intention(.cancel), shop).status == .done)
    #expect(shop.stripe.isCancelling(subscription))
    #expect(try shop.plan == "premium")
    #expect(try done(Intention(.uncancel), shop).status == .done)
    #expect(!shop.stripe.isCancelling(subscription))
  }

  @Test func `who cancels, takes that back on Stripe's page and cancels again has cancelled`()
    throws
  {
    let (shop, subscription) = try subscribed()
    shop.delivers = true
    let first = try done(Intention(.cancel), shop)
    #expect(try shop.ask(Intention(.cancel)).id == first.id)
    try shop.pass(.minutes(1))
    shop.stripe.uncancel(subscription)
    try shop.pass(.minutes(2))
    let second = try done(Intention(.cancel), shop)
    #expect(second.status == .done)
    #expect(second.id != first.id)
    #expect(shop.stripe.isCancelling(subscription))
  }

  @Test func `who resumes, cancels on Stripe's page and resumes again goes on`() throws {
    let (shop, subscription) = try subscribed()
    shop.delivers = true
    _ = try done(Intention(.cancel), shop)
    let first = try done(Intention(.uncancel), shop)
    #expect(try shop.ask(Intention(.uncancel)).id == first.id)
    try shop.pass(.minutes(1))
    shop.stripe.cancel(subscription)
    try shop.pass(.minutes(2))
    #expect(try done(Intention(.uncancel), shop).id != first.id)
    #expect(!shop.stripe.isCancelling(subscription))
  }

  @Test func `who changes, takes that back on Stripe's page and changes again has it`() throws {
    let (shop, subscription) = try subscribed()
    shop.delivers = true
    let first = try done(.change(to: "plus"), shop)
    #expect(try shop.ask(.change(to: "plus")).id == first.id)
    try shop.pass(.minutes(1))
    shop.stripe.changePrice(of: subscription, to: .premiumMonthly)
    try shop.pass(.minutes(2))
    #expect(try done(.change(to: "plus"), shop).id != first.id)
    #expect(shop.stripe.price(of: subscription) == .plusMonthly)
  }

  @Test func `a date on which the subscription would end is taken back, too`() throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.cancel(subscription, on: shop.installation.now + .days(10))
    #expect(try done(Intention(.uncancel), shop).status == .done)
    shop.stripe.run(until: shop.installation.now + .days(11))
    #expect(shop.stripe.status(of: subscription) == "active")
  }

  @Test func `what would end months later is cancelled for the end of this period`() throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.cancel(subscription, on: shop.installation.now + .days(100))
    #expect(try done(Intention(.cancel), shop).status == .done)
    #expect(shop.stripe.isCancelling(subscription))
  }

  /// Stripe would otherwise try the card again until the end of the period.
  @Test func `what is cancelled while a renewal is not paid is charged no more`() throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.setCard(of: subscription, .declines)
    shop.delivers = true
    installationRuns(shop, until: shop.stripe.periodEnd(of: subscription) + .hours(2))
    try shop.runDue()
    try #require(shop.stripe.status(of: subscription) == "past_due")
    #expect(try done(Intention(.cancel), shop).status == .done)
    #expect(shop.stripe.status(of: subscription) == "canceled")
    shop.stripe.setCard(of: subscription, .works)
    installationRuns(shop, until: shop.installation.now + .days(30))
    #expect(shop.stripe.chargeCount == 1)
  }

  @Test func `cancelling takes a change off that waits`() throws {
    let (shop, subscription) = try subscribed(plan: "plus")
    _ = try done(.change(to: "premium"), shop)
    #expect(try done(Intention(.cancel), shop).status == .done)
    #expect(shop.stripe.isCancelling(subscription))
  }

  @Test func `what has ended cannot be resumed`() throws {
    let (shop, subscription) = try subscribed()
    _ = try done(Intention(.cancel), shop)
    shop.delivers = true
    installationRuns(shop, until: shop.stripe.periodEnd(of: subscription) + .minutes(1))
    try shop.runDue()
    let problem = #expect(throws: FlowProblem.self) { try shop.ask(Intention(.uncancel)) }
    #expect(problem?.code == .subscriptionEnded)
  }

  @Test func `an end that nobody told us of is found when it is resumed`() throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.delete(subscription)
    #expect(try done(Intention(.uncancel), shop).problem?.code == .subscriptionEnded)
  }

  @Test func `another card pays what the last one did not, and access never ends`() throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.setCard(of: subscription, .declines)
    shop.delivers = true
    installationRuns(shop, until: shop.stripe.periodEnd(of: subscription) + .hours(2))
    try shop.runDue()
    #expect(shop.stripe.status(of: subscription) == "past_due")
    #expect(try shop.plan == "premium")
    #expect(try done(.card("pm_card_visa"), shop).status == .done)
    #expect(shop.stripe.status(of: subscription) == "active")
    #expect(try shop.plan == "premium")
    #expect(shop.stripe.chargeCount == 2)
  }

  @Test func `paying with the card that is there says what the bank says`() throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.setCard(of: subscription, .lacksFunds)
    shop.delivers = true
    installationRuns(shop, until: shop.stripe.periodEnd(of: subscription) + .hours(2))
    try shop.runDue()
    let flow = try done(Intention(.pay), shop)
    #expect(
      flow.problem?.members.first { $0.name == "decline_code" }?.value == "insufficient_funds")
    #expect(
      flow.problem?.members.first { $0.name == "mend" }?.value == "change_payment_method")
    shop.stripe.setCard(of: subscription, .works)
    #expect(try done(Intention(.pay), shop).status == .done)
    #expect(try done(Intention(.pay), shop).id != flow.id)
  }

  @Test func `a bank debit that its payer confirmed is not given up while the bank takes days`()
    throws
  {
    let (shop, subscription) = try subscribed()
    shop.stripe.setCard(of: subscription, .needsConfirmation)
    shop.delivers = true
    installationRuns(shop, until: shop.stripe.periodEnd(of: subscription) + .hours(2))
    try shop.runDue()
    let begun = try shop.ask(Intention(.pay))
    try shop.settle()
    try #require(try shop.flow(begun.id).status == .requiresAction)
    shop.stripe.setCard(of: subscription, .debits)
    shop.stripe.pay(invoice: shop.stripe.latestInvoice(of: subscription))
    try shop.pass(.hours(23))
    #expect(try shop.flow(begun.id).status == .done)
  }

  @Test func `what fails after another bill was paid is paid by the next request`() throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.setCard(of: subscription, .declines)
    shop.delivers = true
    installationRuns(shop, until: shop.stripe.periodEnd(of: subscription) + .hours(2))
    try shop.runDue()
    shop.stripe.setCard(of: subscription, .works)
    let first = try done(Intention(.pay), shop)
    #expect(try shop.ask(Intention(.pay)).id == first.id)
    try shop.pass(.minutes(1))
    shop.stripe.setCard(of: subscription, .declines)
    shop.stripe.add(.extraMonthly, to: subscription)
    try shop.pass(.minutes(2))
    try #require(shop.stripe.status(of: subscription) == "past_due")
    shop.stripe.setCard(of: subscription, .works)
    #expect(try done(Intention(.pay), shop).id != first.id)
    #expect(shop.stripe.status(of: subscription) == "active")
    #expect(shop.stripe.chargeCount == 3)
  }

  @Test func `who repeats the cancellation of a plan that ended keeps the add-on beside it`() throws
  {
    let (shop, subscription) = try subscribed()
    shop.delivers = true
    let extra = shop.stripe.buy(account: shop.account, .extraMonthly)
    shop.stripe.setCard(of: subscription, .declines)
    try shop.pass(shop.stripe.periodEnd(of: subscription) + .hours(3) - shop.installation.now)
    let first = try done(Intention(.cancel), shop)
    try #require(shop.stripe.status(of: subscription) == "canceled")
    try shop.pass(.minutes(1))
    #expect(try shop.ask(Intention(.cancel)).id == first.id)
    #expect(!shop.stripe.isCancelling(extra))
  }

  @Test func `an add-on with a subscription of its own is paid, though the plan is not due`() throws
  {
    let (shop, _) = try subscribed()
    shop.delivers = true
    let extra = shop.stripe.buy(account: shop.account, .extraMonthly)
    shop.stripe.setCard(of: extra, .declines)
    try shop.pass(shop.stripe.periodEnd(of: extra) + .hours(3) - shop.installation.now)
    try #require(shop.stripe.status(of: extra) == "past_due")
    shop.stripe.setCard(of: extra, .works)
    #expect(try done(Intention(.pay), shop).status == .done)
    #expect(shop.stripe.status(of: extra) == "active")
  }

  @Test func `an add-on that ends with its period is paid, though the plan is not due`() throws {
    let (shop, _) = try subscribed()
    shop.delivers = true
    let extra = shop.stripe.buy(account: shop.account, .extraMonthly)
    shop.stripe.setCard(of: extra, .declines)
    try shop.pass(shop.stripe.periodEnd(of: extra) + .hours(3) - shop.installation.now)
    shop.stripe.cancel(extra)
    try shop.pass(.minutes(5))
    try #require(shop.stripe.status(of: extra) == "past_due")
    #expect(try shop.actions.contains("pay"))
    shop.stripe.setCard(of: extra, .works)
    #expect(try done(Intention(.pay), shop).status == .done)
    #expect(shop.stripe.status(of: extra) == "active")
  }

  @Test func `who has paid the plan and asks again pays the add-on beside it`() throws {
    let (shop, subscription) = try subscribed()
    shop.delivers = true
    let extra = shop.stripe.buy(account: shop.account, .extraMonthly)
    for id in [subscription, extra] { shop.stripe.setCard(of: id, .declines) }
    try shop.pass(shop.stripe.periodEnd(of: extra) + .hours(3) - shop.installation.now)
    for id in [subscription, extra] {
      try #require(shop.stripe.status(of: id) == "past_due")
      shop.stripe.setCard(of: id, .works)
    }
    #expect(try done(Intention(.pay), shop).status == .done)
    #expect([subscription, extra].map { shop.stripe.status(of: $0) } == ["active", "past_due"])
    #expect(try done(Intention(.pay), shop).status == .done)
    #expect(shop.stripe.status(of: extra) == "active")
  }

  /// Stripe names only its newest bill.
  @Test func `a bill that a newer one has followed is not offered to be paid`() throws {
    let (shop, subscription) = try subscribed()
    shop.delivers = true
    shop.stripe.setCard(of: subscription, .declines)
    try shop.pass(shop.stripe.periodEnd(of: subscription) + .hours(3) - shop.installation.now)
    try #require(try shop.actions.contains("pay"))
    shop.stripe.pause(subscription, .requested)
    try shop.pass(.minutes(5))
    shop.stripe.setCard(of: subscription, .works)
    shop.stripe.resume(subscription)
    try shop.pass(.minutes(5))
    try #require(shop.stripe.status(of: subscription) == "active")
    #expect(try shop.actions == ["card", "cancel", "portal"])
  }

  @Test func `who bought as another customer sets that one's card, and sees its page`() throws {
    let (shop, first) = try subscribed()
    shop.delivers = true
    shop.stripe.delete(first)
    try shop.pass(.minutes(1))
    let second = shop.stripe.buy(account: shop.account)
    try shop.pass(.minutes(1))
    let customer = shop.stripe.customer(of: second)
    try #require(customer != shop.stripe.customer(of: first))
    #expect(try done(.card("pm_card_mastercard"), shop).status == .done)
    var page = Intention(.portal)
    page.returnURL = "https://app.example/back"
    #expect(try done(page, shop).state[.customer] == customer)
  }

  @Test func `nothing is paid where nothing is open`() throws {
    let (shop, _) = try subscribed()
    #expect(try done(Intention(.pay), shop).problem?.code == .nothingToPay)
  }

  @Test func `a plan is not changed while a payment is due`() throws {
    let (shop, subscription) = try subscribed()
    shop.stripe.setCard(of: subscription, .declines)
    shop.delivers = true
    installationRuns(shop, until: shop.stripe.periodEnd(of: subscription) + .hours(2))
    try shop.runDue()
    #expect(try done(.change(to: "plus"), shop).problem?.code == .paymentDue)
  }

  @Test func `a page is opened, used, and what was bought there holds`() throws {
    let shop = try BuyingShop(.sqlite)
    let begun = try shop.ask(.checkout())
    try shop.settle()
    guard case .visit(let url) = try shop.action(of: begun.id) else {
      Issue.record("there is no page")
      return
    }
    #expect(url.hasPrefix("https://checkout.stripe.com/"))
    #expect(try shop.ask(.checkout()).id == begun.id)
    #expect(try shop.finish(begun.id).status == .done)
    #expect(try shop.plan == "premium")
    #expect(shop.current.count == 1)
  }

  @Test func `a page that is given up cannot be used any more`() throws {
    let shop = try BuyingShop(.sqlite)
    shop.client = .refuses
    let flow = try shop.finish(try shop.ask(.checkout()).id)
    #expect(flow.problem?.code == .givenUp)
    #expect(shop.stripe.openSessionCount == 0)
  }

  @Test func `a page that nobody visits is over within a day`() throws {
    let shop = try BuyingShop(.sqlite)
    shop.client = .isAway
    #expect(try shop.finish(try shop.ask(.checkout()).id).problem?.code == .notCompleted)
    #expect(shop.stripe.openSessionCount == 0)
  }

  @Test func `after thirty flows in an hour the next one waits until the first is an hour old`()
    throws
  {
    let (shop, _) = try subscribed()
    var intention = Intention(.portal)
    intention.returnURL = "https://app.example/back"
    try shop.pass(.minutes(10))
    for _ in 1..<30 { _ = try shop.ask(intention) }
    let problem = #expect(throws: FlowProblem.self) { try shop.ask(intention) }?.problem
    #expect(problem?.code == "too_many_flows")
    let wait = try #require(problem?.retryAfterSeconds)
    #expect((2900...3001).contains(wait), "\(wait)")
    try shop.pass(.seconds(Int64(wait)))
    _ = try shop.ask(intention)
  }

  @Test func `the portal opens for who has bought, each time anew`() throws {
    let (shop, _) = try subscribed()
    var intention = Intention(.portal)
    intention.returnURL = "https://app.example/back"
    let first = try done(intention, shop)
    guard case .visit = try shop.action(of: first.id) else {
      Issue.record("there is no page")
      return
    }
    #expect(try done(intention, shop).id != first.id)
  }
}
