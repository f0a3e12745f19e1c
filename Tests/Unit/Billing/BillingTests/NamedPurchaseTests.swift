import KnownStores
import Stores
import Subscriptions
import Testing
import Tiers

@Suite struct NamedPurchaseTests {
  @Test(
    arguments: [
      ("sub_1", "stripe:live:subscription:sub_1", "stripe:live:subscription:sub_1"),
      (
        "2000000123456789", "apple:live:transaction:2000000123456789",
        "apple:live:subscription:2000000123456789"
      ),
      ("CHoJbcsDV3rVE1tsgvgiTP", "btcpay:live:prepaid_invoice:CHoJbcsDV3rVE1tsgvgiTP", nil),
      (
        "apple:sandbox:subscription:7", "apple:sandbox:subscription:7",
        "apple:sandbox:subscription:7"
      ),
    ] as [(String, String, String?)])
  func `a number of a store's names its object and what is read`(
    _ number: String, _ object: String, _ subscription: String?
  ) throws {
    let named = try #require(StoreList.known.purchase(named: number, in: .live))
    #expect(named.object.description == object)
    #expect(named.subscription?.description == subscription)
    #expect(named.secret == nil)
  }

  @Test func `a purchase token is a secret, and its digest the purchase`() throws {
    let token = String(repeating: "a", count: 100) + ".AO-J1O"
    let named = try #require(StoreList.known.purchase(named: token, in: .live))
    #expect(named.secret != nil)
    #expect(named.object == named.subscription)
    #expect(!named.object.description.contains(token))
  }

  @Test(arguments: ["", "7", "in_1", "ada", "12345", "stripe:live:invoice:in_1", "a b"])
  func `anything else names nothing`(_ text: String) {
    #expect(StoreList.known.purchase(named: text, in: .live) == nil)
  }
}
