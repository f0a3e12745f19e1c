import Base
import BillingSimulation
import Flows
import JSON
import ProviderFakes
import TestEngines
import Testing

/// An account that is being deleted buys nothing, and a purchase that it had started charges nothing.
struct LeavingBuyerTests {
  private static let purchases: [Intention] = [
    .subscribe("pm_card_visa"), .checkout(), .migrate("pm_card_visa"),
  ]

  private func problem(_ body: () throws -> Flow) -> FlowProblem? {
    do {
      _ = try body()
      return nil
    } catch { return error as? FlowProblem }
  }

  @Test(arguments: TestEngine.available)
  func `an account that is being deleted begins no purchase`(engine: TestEngine) throws {
    let shop = try BuyingShop(engine)
    try shop.askForEnd()
    for intention in Self.purchases {
      let refused = problem { try shop.ask(intention) }
      #expect(refused?.code.rawValue == "account_leaving")
      #expect(refused?.members.first { $0.name == "asked_by" }?.value == "owner")
      #expect(
        refused?.members.first { $0.name == "cancel" }?.value == "DELETE /v1/account/deletion")
    }
    #expect(try shop.actions.isEmpty)
    #expect(shop.stripe.chargeCount == 0)
  }

  @Test func `a payer who is leaving can cancel, see the invoices, and nothing else`() throws {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    try #require(try shop.finish(try shop.ask(.subscribe("pm_card_visa")).id).status == .done)
    try shop.askForEnd()
    let offered = try shop.actions
    #expect(offered == ["cancel", "portal"])
    let refused: [Intention] = [
      .change(to: "plus"), Intention(.uncancel), Intention(.resume), Intention(.pay),
    ]
    for intention in refused {
      #expect(problem { try shop.ask(intention) }?.code.rawValue == "account_leaving")
    }
    let flow = try shop.finish(try shop.ask(Intention(.cancel)).id)
    #expect(flow.status == .done)
    #expect(try shop.actions == ["portal"])
  }

  @Test func `who stays after all buys again`() throws {
    let shop = try BuyingShop(.sqlite)
    try shop.askForEnd()
    try shop.stay()
    #expect(try shop.finish(try shop.ask(.subscribe("pm_card_visa")).id).status == .done)
  }

  @Test(arguments: [
    Intention.subscribe("pm_card_visa"), .subscribe("pm_card_authenticationRequired"),
    .subscribe("pm_card_authenticationRequiredOnSetup"), .checkout(),
  ])
  func `a purchase that is open when the account begins to leave charges nothing, at any step`(
    intention: Intention
  ) throws {
    for steps in 0..<12 {
      let shop = try BuyingShop(.sqlite)
      shop.client = .isAway
      let id = try shop.ask(intention).id
      for _ in 0..<steps where try shop.flow(id).status == .running { try shop.step() }
      let charged = shop.stripe.chargeCount
      try shop.askForEnd()
      for _ in 0..<60 where try shop.flow(id).isOpen { try shop.step() }
      let flow = try shop.flow(id)
      #expect(!flow.isOpen)
      #expect(shop.stripe.chargeCount == charged, "after \(steps) steps: \(flow)")
      if charged == 0 {
        #expect(flow.problem?.code.rawValue == "account_leaving", "after \(steps) steps")
        #expect(shop.current.isEmpty)
      } else {
        #expect(flow.status == .done)
      }
    }
  }

  @Test
  func `a larger plan that waits for the bank when the account begins to leave is not billed`()
    throws
  {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    let bought = try shop.ask(.subscribe("pm_card_visa"))
    try #require(try shop.finish(bought.id).status == .done)
    let id = try #require(shop.current.first)
    shop.stripe.setCard(of: id, .needsConfirmation)
    let flow = try shop.ask(.change(to: "plus"))
    shop.client = .isAway
    for _ in 0..<20 where try shop.flow(flow.id).status == .running { try shop.step() }
    try #require(try shop.flow(flow.id).status == .requiresAction)
    try shop.askForEnd()
    for _ in 0..<60 where try shop.flow(flow.id).isOpen { try shop.step() }
    #expect(try shop.flow(flow.id).problem?.code.rawValue == "account_leaving")
    #expect(shop.stripe.chargeCount == 1)
  }

  @Test func `a larger plan that was paid holds, at whatever call the account begins to leave`()
    throws
  {
    for call in 0..<6 {
      let shop = try BuyingShop.withThreePlans()
      for wish in [Intention.subscribe("pm_card_visa", plan: "middle"), .change(to: "small")] {
        try #require(try shop.finish(try shop.ask(wish).id).status == .done)
      }
      let id = try shop.ask(.change(to: "large")).id
      shop.way.plan(.unreachable, atCall: shop.way.callCount + call)
      try shop.step()
      let end: Flow.Status = shop.stripe.chargeCount == 2 ? .done : .failed
      try shop.askForEnd()
      for _ in 0..<60 where try shop.flow(id).isOpen { try shop.step() }
      #expect(try shop.flow(id).status == end, "at call \(call)")
    }
  }

  @Test func `an open page is closed within a minute of the deletion`() throws {
    let shop = try BuyingShop(.sqlite)
    try shop.installation.beginRounds()
    shop.client = .isAway
    let id = try shop.ask(.checkout()).id
    // After so long the flow checks Stripe only every few minutes.
    try shop.pass(.hours(5))
    try #require(try shop.flow(id).status == .requiresAction)
    try shop.askForEnd()
    let end = shop.installation.now + .minutes(2)
    while shop.installation.now < end { try shop.step() }
    #expect(try shop.flow(id).problem?.code.rawValue == "account_leaving")
  }
}
