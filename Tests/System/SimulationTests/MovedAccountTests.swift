import Base
import BillingSimulation
import Configuration
import ProviderFakes
import TestEngines
import Testing

/// Billing's part in the deletion of an account that has moved to another Coffer.
struct MovedAccountTests {
  @Test(arguments: TestEngine.available)
  func `its store keeps billing it, and nobody is called to look at that`(
    engine: TestEngine
  ) throws {
    let shop = try BuyingShop(engine, deleting: .now)
    shop.delivers = true
    try shop.installation.beginRounds()
    let id = shop.stripe.buy(account: shop.account)
    try shop.pass(.minutes(30))
    try shop.askForEnd(hasMoved: true)
    try shop.pass(.days(7))
    try shop.beginErasing()
    try shop.pass(.days(1))
    #expect(try shop.isErased)
    #expect(try shop.keptBodies.isEmpty)
    try shop.pass(.days(40))
    #expect(!shop.stripe.isCancelling(id))
    #expect(try shop.installation.attention().isEmpty)
    #expect(try shop.installation.drift().isEmpty)
  }
}
