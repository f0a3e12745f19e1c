import BillingSimulation
import Flows
import ProviderFakes
import Stripe
import TestEngines
import Testing

/// Additional functions of Stripe's payment page, if the operator wants them.
struct CheckoutExtrasTests {
  @Test(arguments: StripeBuying.Extra.allCases.map { [$0] } + [StripeBuying.Extra.allCases])
  func `a plan is bought on a page with whatever extras`(extras: [StripeBuying.Extra]) throws {
    let shop = try BuyingShop(.sqlite, extras: Set(extras))
    #expect(try shop.finish(try shop.ask(.checkout()).id).status == .done)
    #expect(try shop.plan == "premium")
  }

  @Test func `each extra is asked of Stripe, and none where none is wanted`() {
    var buying = StripeBuying()
    #expect(buying.pageForm.isEmpty)
    buying.extras = [.promotionCodes]
    #expect(buying.pageForm.map(\.name) == ["allow_promotion_codes"])
    buying.extras = [.automaticTax, .taxIDs]
    #expect(
      buying.pageForm.map(\.name) == [
        "automatic_tax[enabled]", "tax_id_collection[enabled]", "customer_update[address]",
        "customer_update[name]",
      ])
  }

  @Test func `what is taxed and bought in the app without an address says that one is needed`()
    throws
  {
    let shop = try BuyingShop(.sqlite, extras: [.automaticTax])
    let flow = try shop.finish(try shop.ask(.subscribe("pm_card_visa")).id)
    #expect(flow.problem?.code == .billingAddressRequired)
    #expect(shop.stripe.chargeCount == 0)
  }
}
