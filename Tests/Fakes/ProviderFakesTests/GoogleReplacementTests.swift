import Base
import JSON
import ProviderFakes
import Testing

/// Purchases that follow another one.
@Suite struct GoogleReplacementTests {
  private typealias Shop = GoogleShop

  private func bought(_ plan: GooglePlan = Shop.monthly) -> (Shop, String) {
    let shop = Shop()
    let token = shop.store.buy(plan, for: Shop.owner)
    shop.store.acknowledge(token)
    shop.days(10)
    return (shop, token)
  }

  @Test func `an upgrade is a new token that links to the old one, which expires`() throws {
    let (shop, old) = bought()
    let new = shop.store.replace(old, with: Shop.studio, .chargeFullPrice)
    #expect(try shop.shows(new) == "ACTIVE \(shop.clock.now.adding(months: 1))")
    #expect(try shop.read(new)["linkedPurchaseToken"].string == old)
    #expect(try shop.read(new)["acknowledgementState"].string == "ACKNOWLEDGEMENT_STATE_PENDING")
    #expect(try shop.shows(old) == "EXPIRED \(shop.clock.now)")
    #expect(try shop.read(old)["canceledStateContext"]["replacementCancellation"].isObject)
    #expect(shop.told == ["PURCHASED", "PURCHASED", "EXPIRED"])
  }

  @Test func `a prorated upgrade keeps the renewal date`() throws {
    let (shop, old) = bought()
    let new = shop.store.replace(old, with: Shop.studio, .chargeProratedPrice)
    #expect(try shop.shows(new) == "ACTIVE \(shop.end)")
  }

  @Test func `with time proration what is left is worth less time of a dearer plan`() throws {
    let (shop, old) = bought()
    let new = shop.store.replace(old, with: Shop.studio, .withTimeProration)
    let text = try #require(shop.read(new)["lineItems"][0]["expiryTime"].string)
    #expect((shop.clock.now + .days(6)).description < text)
    #expect(text < (shop.clock.now + .days(7)).description)
  }

  @Test func `a deferred change keeps the old item until the renewal`() throws {
    let (shop, old) = bought(Shop.studio)
    let new = shop.store.replace(old, with: Shop.monthly, .deferred)
    shop.store.acknowledge(new)
    #expect(try shop.shows(new) == "ACTIVE \(shop.end) -")
    let item = try shop.read(new)["lineItems"][0]
    #expect(item["productId"].string == "studio")
    #expect(item["deferredItemReplacement"]["productId"].string == "premium")
    shop.go(to: shop.end)
    #expect(try shop.shows(new) == "ACTIVE \(shop.end.adding(months: 1))")
    #expect(try shop.read(new)["lineItems"][0]["productId"].string == "premium")
    #expect(shop.told == ["PURCHASED", "PURCHASED", "EXPIRED", "RENEWED"])
  }

  @Test func `an upgrade by cash leaves the old plan alone until it is paid`() throws {
    let (shop, old) = bought()
    let new = shop.store.replace(old, with: Shop.studio, .chargeFullPrice, isPending: true)
    #expect(try shop.shows(new) == "PENDING -")
    #expect(try !shop.read(new)["startTime"].exists)
    #expect(try shop.shows(old) == "ACTIVE \(shop.end)")
    shop.days(2)
    shop.store.payPending(new)
    #expect(try shop.shows(new) == "ACTIVE \(shop.clock.now.adding(months: 1))")
    #expect(try shop.shows(old) == "EXPIRED \(shop.clock.now)")
  }

  @Test func `an upgrade by cash that falls through changes nothing`() throws {
    let (shop, old) = bought()
    let new = shop.store.replace(old, with: Shop.studio, .chargeFullPrice, isPending: true)
    shop.store.abandonPending(new)
    #expect(try shop.shows(new) == "PENDING_PURCHASE_CANCELED -")
    #expect(try shop.shows(old) == "ACTIVE \(shop.end)")
    #expect(shop.told == ["PURCHASED", "PENDING_PURCHASE_CANCELED"])
  }

  @Test func `a pending purchase can be acknowledged only once it is paid`() throws {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner, isPending: true)
    #expect(!shop.store.acknowledge(token))
    #expect(shop.told.isEmpty)
    shop.days(5)
    shop.store.payPending(token)
    #expect(shop.store.acknowledge(token))
    #expect(shop.told == ["PURCHASED"])
  }

  @Test func `bought again outside the app, a purchase says what it continues until acknowledged`()
    throws
  {
    let (shop, old) = bought()
    shop.store.cancel(old)
    shop.go(to: shop.end + .days(4))
    let new = shop.store.resubscribeOutsideApp(old)
    let read = try shop.read(new)
    #expect(!read["linkedPurchaseToken"].exists)
    #expect(!read["externalAccountIdentifiers"].exists)
    let context = read["outOfAppPurchaseContext"]
    #expect(context["expiredPurchaseToken"].string == old)
    #expect(
      context["expiredExternalAccountIdentifiers"]["obfuscatedExternalAccountId"].string
        == Shop.owner.description)
    shop.store.acknowledge(new, accountID: Shop.owner)
    let later = try shop.read(new)
    #expect(!later["outOfAppPurchaseContext"].exists)
    #expect(
      later["externalAccountIdentifiers"]["obfuscatedExternalAccountId"].string
        == Shop.owner.description)
  }

  @Test func `a prepaid plan does not renew; a top-up appends a period under a new token`() throws {
    let (shop, first) = bought(Shop.prepaid)
    #expect(try shop.read(first)["lineItems"][0]["prepaidPlan"].isObject)
    let second = shop.store.topUp(first)
    shop.store.acknowledge(second)
    #expect(try shop.shows(second) == "ACTIVE \(shop.end.adding(months: 1))")
    #expect(try shop.read(second)["linkedPurchaseToken"].string == first)
    shop.go(to: shop.end.adding(months: 1))
    #expect(try shop.shows(second) == "EXPIRED \(shop.end.adding(months: 1))")
    #expect(shop.told == ["PURCHASED", "PURCHASED", "EXPIRED", "EXPIRED"])
  }

  @Test func `an added item shares the renewal date and leaves at it`() throws {
    let (shop, token) = bought()
    shop.store.addItem(Shop.studio, to: token)
    #expect(try shop.shows(token) == "ACTIVE \(shop.end) \(shop.end)")
    shop.store.removeItem("studio", from: token)
    #expect(try shop.read(token)["lineItems"][1]["deferredItemRemoval"].isObject)
    shop.go(to: shop.end)
    #expect(try shop.shows(token) == "ACTIVE \(shop.end.adding(months: 1))")
    #expect(shop.told == ["PURCHASED", "ITEMS_CHANGED", "ITEMS_CHANGED", "RENEWED"])
  }
}
