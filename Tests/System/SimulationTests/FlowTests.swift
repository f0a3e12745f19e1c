import Base
import BillingSimulation
import Flows
import JSON
import ProviderFakes
import TestEngines
import Testing
import Tiers

/// Purchases and changes through Stripe, without failures.
struct FlowTests {
  @Test(arguments: TestEngine.allCases)
  func `a payment method buys, and the plan holds when the flow is done`(
    engine: TestEngine
  ) throws {
    let shop = try BuyingShop(engine)
    let flow = try shop.finish(try shop.ask(.subscribe("pm_card_visa")).id)
    #expect(flow.status == .done)
    #expect(try shop.plan == "premium")
    #expect(shop.stripe.customerCount == 1)
    #expect(shop.stripe.chargeCount == 1)
    #expect(shop.current.count == 1)
  }

  @Test func `an intention that is repeated is one flow, while it runs and when it is done`() throws
  {
    let shop = try BuyingShop(.sqlite)
    let method = shop.stripe.addPaymentMethod(.works)
    let first = try shop.ask(.subscribe(method))
    #expect(try shop.ask(.subscribe(method)).id == first.id)
    _ = try shop.finish(first.id)
    #expect(try shop.ask(.subscribe(method)).id == first.id)
    #expect(shop.current.count == 1)
  }

  @Test func `an intention that is repeated a quarter of an hour later is another one`() throws {
    let shop = try BuyingShop(.sqlite)
    let method = shop.stripe.addPaymentMethod(.works)
    let first = try shop.finish(try shop.ask(.subscribe(method)).id)
    let closed = try #require(first.closed)
    let later = closed + .minutes(15)
    shop.installation.now = later - .milliseconds(1)
    #expect(try shop.ask(.subscribe(method)).id == first.id)
    shop.installation.now = later
    let problem = #expect(throws: FlowProblem.self) { try shop.ask(.subscribe(method)) }
    #expect(problem?.code == .alreadySubscribed)
  }

  @Test func `another intention is refused while one is open`() throws {
    let shop = try BuyingShop(.sqlite)
    let first = try shop.ask(.subscribe("pm_card_visa"))
    let problem = #expect(throws: FlowProblem.self) {
      try shop.ask(.subscribe("pm_card_visa", plan: "plus"))
    }
    #expect(problem?.code == .flowOpen)
    #expect(try shop.finish(first.id).status == .done)
    #expect(try shop.plan == "premium")
  }

  static let declined = [
    ("pm_card_chargeCustomerFail", "generic_decline"),
    ("pm_card_visa_chargeDeclinedInsufficientFunds", "insufficient_funds"),
  ]

  @Test(arguments: declined)
  func `a declined card buys nothing and says why`(method: String, reason: String) throws {
    let shop = try BuyingShop(.sqlite)
    let flow = try shop.finish(try shop.ask(.subscribe(method)).id)
    #expect(flow.problem?.code == .cardDeclined)
    #expect(flow.problem?.members.first { $0.name == "decline_code" }?.value == .string(reason))
    #expect(shop.current.isEmpty)
    #expect(shop.stripe.chargeCount == 0)
    // Another card makes it another intention.
    #expect(try shop.finish(try shop.ask(.subscribe("pm_card_visa")).id).status == .done)
    #expect(shop.stripe.customerCount == 1)
  }

  @Test(arguments: ["pm_card_authenticationRequiredOnSetup", "pm_card_authenticationRequired"])
  func `what the bank wants confirmed is told to the client, and bought once`(method: String) throws
  {
    let shop = try BuyingShop(.sqlite)
    let begun = try shop.ask(.subscribe(method))
    try shop.settle()
    #expect(try shop.flow(begun.id).status == .requiresAction)
    guard case .confirmSetup = try shop.action(of: begun.id) else {
      Issue.record("nothing is to be confirmed")
      return
    }
    #expect(try shop.finish(begun.id).status == .done)
    #expect(try shop.plan == "premium")
    #expect(shop.current.count == 1)
    #expect(shop.stripe.chargeCount == 1)
  }

  @Test func `a client that never comes back leaves nothing behind`() throws {
    let shop = try BuyingShop(.sqlite)
    let begun = try shop.ask(.subscribe("pm_card_authenticationRequired"))
    try shop.settle()
    guard case .confirmSetup(let secret) = try shop.action(of: begun.id) else {
      Issue.record("nothing is to be confirmed")
      return
    }
    shop.stripe.confirm(secret)
    shop.client = .isAway
    let flow = try shop.finish(begun.id)
    #expect(flow.problem?.code == .notCompleted)
    #expect(shop.current.isEmpty)
    #expect(shop.stripe.chargeCount == 0)
  }

  @Test func `a client that comes back too late is asked for nothing any more`() throws {
    let shop = try BuyingShop(.sqlite)
    shop.client = .isAway
    let begun = try shop.ask(.subscribe("pm_card_authenticationRequired"))
    try shop.settle()
    guard case .confirmSetup = try shop.action(of: begun.id) else {
      Issue.record("nothing is to be confirmed")
      return
    }
    #expect(try shop.finish(begun.id).problem?.code == .notCompleted)
    #expect(try shop.action(of: begun.id) == nil)
  }

  @Test func `another customer's payment method is refused`() throws {
    let shop = try BuyingShop(.sqlite)
    let other = shop.stripe.addCustomer()
    let method = shop.stripe.addPaymentMethod(.works, customer: other)
    let flow = try shop.finish(try shop.ask(.subscribe(method)).id)
    #expect(flow.problem?.code == .paymentMethodUnusable)
    #expect(shop.stripe.subscriptions.isEmpty)
  }

  @Test func `an add-on with a subscription of its own prevents no plan and stays`() throws {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    let extra = shop.stripe.buy(account: shop.account, .extraMonthly)
    try shop.pass(.hours(1))
    #expect(try shop.plan == "extra")
    #expect(try shop.finish(try shop.ask(.subscribe("pm_card_visa")).id).status == .done)
    #expect(try shop.plan == "premium")
    #expect(try shop.finish(try shop.ask(.change(to: "plus")).id).status == .done)
    #expect(try shop.plan == "plus")
    #expect(shop.current.count == 2 && shop.current.contains(extra))
    for name in ["change", "cancel", "card"] {
      #expect(try shop.actions.filter { $0 == name }.count == 1)
    }
  }

  @Test func `an add-on without a plan is offered no change, and is not changed`() throws {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    _ = shop.stripe.buy(account: shop.account, .extraMonthly)
    try shop.pass(.hours(1))
    let actions = try shop.actions
    #expect(actions.contains("cancel") && !actions.contains("change"), "\(actions)")
    let refusal = #expect(throws: FlowProblem.self) { try shop.ask(.change(to: "plus")) }
    #expect(refusal?.code == .noSubscription)
  }

  @Test func `who has a subscription is refused a second one, with what can be done`() throws {
    let shop = try BuyingShop(.sqlite)
    _ = try shop.finish(try shop.ask(.subscribe("pm_card_visa")).id)
    let problem = #expect(throws: FlowProblem.self) {
      try shop.ask(.subscribe("pm_card_mastercard"))
    }
    #expect(problem?.code == .alreadySubscribed)
    #expect(problem?.members.contains { $0.name == "choices" } == true)
    #expect(shop.current.count == 1)
  }

  @Test func `a subscription that nobody told us of is found before another is bought`() throws {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    _ = try shop.finish(try shop.ask(.subscribe("pm_card_visa")).id)
    shop.stripe.delete(try #require(shop.current.first))
    try shop.runDue()
    shop.delivers = false
    let customer = try #require(shop.stripe.onlyCustomer)
    _ = shop.stripe.subscribe(customer: customer, account: shop.account)
    let flow = try shop.finish(try shop.ask(.subscribe("pm_card_mastercard")).id)
    #expect(flow.problem?.code == .alreadySubscribed)
  }

  @Test func `who bought before there were flows stays one customer`() throws {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    let first = shop.stripe.buy(account: shop.account)
    try shop.runDue()
    shop.stripe.delete(first)
    try shop.runDue()
    #expect(try shop.finish(try shop.ask(.subscribe("pm_card_visa")).id).status == .done)
    #expect(shop.stripe.customerCount == 1)
    #expect(shop.stripe.customer(of: try #require(shop.current.first)) == shop.stripe.onlyCustomer)
  }

  @Test func `a customer who was deleted at Stripe is made anew`() throws {
    let shop = try BuyingShop(.sqlite)
    _ = try shop.finish(try shop.ask(.subscribe("pm_card_chargeCustomerFail")).id)
    shop.stripe.delete(customer: try #require(shop.stripe.onlyCustomer))
    #expect(try shop.finish(try shop.ask(.subscribe("pm_card_visa")).id).status == .done)
    #expect(try shop.plan == "premium")
  }

  static let unknown: [(Intention, FlowProblem.Code)] = [
    (.subscribe("pm_card_visa", plan: "gold"), .planUnknown),
    (.subscribe("pm_card_visa", plan: "extra"), .planUnknown),
    (.subscribe("pm_card_visa", plan: "plus", .year), .planNotSold),
    (.change(to: "plus"), .noSubscription), (Intention(.cancel), .nothingToCancel),
    (Intention(.uncancel), .noSubscription), (Intention(.pay), .noSubscription),
    (.card("pm_card_visa"), .noSubscription), (Intention(.portal), .noCustomer),
    (Intention(.migrate), .nothingToMigrate),
  ]

  @Test(arguments: unknown)
  func `what cannot be done is refused before anything is begun`(
    intention: Intention, code: FlowProblem.Code
  ) throws {
    let shop = try BuyingShop(.sqlite)
    let problem = #expect(throws: FlowProblem.self) { try shop.ask(intention) }
    #expect(problem?.code == code)
    #expect(shop.way.callCount == 0)
  }
}
