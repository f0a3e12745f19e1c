import Base
import JSON
import ProviderFakes
import Testing

/// The fake App Store's notifications and their order, compared with Apple's documents.
@Suite struct AppleLifecycleTests {
  private typealias Shop = AppleShop

  @Test func `a first purchase is told with its dates and the account`() throws {
    let shop = Shop()
    let id = shop.buy()
    #expect(shop.types == ["SUBSCRIBED.INITIAL_BUY"])
    let told = try shop.last()
    let sale = try #require(told.transaction)
    #expect(sale["transactionId"].string == id)
    #expect(sale["originalTransactionId"].string == id)
    #expect(sale["appAccountToken"].string == Shop.owner.description)
    #expect(sale["purchaseDate"].instant == Shop.start)
    #expect(sale["expiresDate"].instant == Shop.start.adding(months: 1))
    #expect(told.renewal?["autoRenewStatus"].integer == 1)
    #expect(told.outer["data"]["status"].integer == 1)
  }

  @Test func `a renewal is charged before the period it pays for`() throws {
    let shop = Shop { $0.renewalLead = .hours(24) }
    let id = shop.buy()
    let end = shop.store.expiry(of: id)
    shop.go(to: end - .hours(24) - .milliseconds(1))
    #expect(shop.types.count == 1)
    shop.go(to: end - .hours(24))
    #expect(shop.types.last == "DID_RENEW")
    let sale = try #require(shop.last().transaction)
    #expect(sale["purchaseDate"].instant == end)
    #expect(sale["expiresDate"].instant == end.adding(months: 1))
    #expect(sale["transactionReason"].string == "RENEWAL")
    #expect(sale["transactionId"].string != id)
  }

  @Test func `nobody is charged more than a day early`() {
    let shop = Shop { $0.renewalLead = .days(9) }
    let end = shop.store.expiry(of: shop.buy())
    shop.go(to: end - .hours(24) - .milliseconds(1))
    #expect(shop.types.count == 1)
  }

  @Test func `a failed renewal is grace, then retries, then the end after 60 days`() throws {
    let shop = Shop()
    let id = shop.buy()
    let end = shop.store.expiry(of: id)
    shop.store.breakCard(id)
    shop.go(to: end)
    let failed = try shop.last()
    #expect(failed.outer["data"]["status"].integer == 4)
    #expect(failed.renewal?["gracePeriodExpiresDate"].instant == end + .days(16))
    #expect(failed.renewal?["isInBillingRetryPeriod"].bool == true)
    #expect(failed.transaction?["expiresDate"].instant == end)
    #expect(shop.store.graceUntil(id) == end + .days(16))
    shop.go(to: end + .days(16))
    #expect(shop.store.status(of: id) == 3)
    #expect(shop.store.graceUntil(id) == nil)
    shop.go(to: end + .days(60))
    let over = try shop.last()
    #expect(over.outer["data"]["status"].integer == 2)
    #expect(over.renewal?["expirationIntent"].integer == 2)
    #expect(over.renewal?["autoRenewStatus"].integer == 0)
    #expect(
      shop.types == [
        "SUBSCRIBED.INITIAL_BUY", "DID_FAIL_TO_RENEW.GRACE_PERIOD", "GRACE_PERIOD_EXPIRED",
        "EXPIRED.BILLING_RETRY",
      ])
  }

  @Test func `recovered in grace, the renewal day stays`() throws {
    let shop = Shop()
    let id = shop.buy()
    let end = shop.store.expiry(of: id)
    shop.store.breakCard(id)
    shop.go(to: end + .days(4))
    shop.store.repairCard(id)
    #expect(shop.types.last == "DID_RENEW.BILLING_RECOVERY")
    #expect(shop.store.expiry(of: id) == end.adding(months: 1))
    #expect(try shop.last().renewal?["gracePeriodExpiresDate"].exists == false)
  }

  @Test func `recovered after grace, a period begins on that day`() throws {
    let shop = Shop { $0.graceDays = 0 }
    let id = shop.buy()
    let end = shop.store.expiry(of: id)
    shop.store.breakCard(id)
    shop.go(to: end + .days(4))
    #expect(shop.types.last == "DID_FAIL_TO_RENEW")
    shop.store.repairCard(id)
    let sale = try #require(shop.last().transaction)
    #expect(sale["purchaseDate"].instant == end + .days(4))
    #expect(sale["expiresDate"].instant == (end + .days(4)).adding(months: 1))
  }

  @Test func `cancelled and restored, it renews; cancelled alone, it ends with its period`() {
    let shop = Shop()
    let id = shop.buy()
    shop.store.turnOffRenewal(id)
    shop.store.turnOnRenewal(id)
    let end = shop.store.expiry(of: id)
    shop.go(to: end + .days(1))
    shop.store.turnOffRenewal(id)
    shop.go(to: end.adding(months: 1))
    #expect(
      shop.types == [
        "SUBSCRIBED.INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_DISABLED",
        "DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_ENABLED", "DID_RENEW",
        "DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_DISABLED", "EXPIRED.VOLUNTARY",
      ])
    #expect(shop.store.status(of: id) == 2)
  }

  @Test func `an upgrade is at once, with a new transaction, and marks the old one`() throws {
    let shop = Shop()
    let id = shop.buy()
    shop.go(.days(10))
    shop.store.change(id, to: .plusMonthly)
    #expect(shop.types.last == "DID_CHANGE_RENEWAL_PREF.UPGRADE")
    let sale = try #require(shop.last().transaction)
    #expect(sale["productId"].string == AppleProduct.plusMonthly.id)
    #expect(sale["purchaseDate"].instant == Shop.start + .days(10))
    #expect(sale["originalTransactionId"].string == id)
    let history = try shop.get("/inApps/v2/history/\(id)").json["signedTransactions"]
    let old = try (history.array ?? []).map { try Shop.verified($0.requireString()) }
      .first { $0["transactionId"].string == id }
    #expect(old?["isUpgraded"].bool == true)
    #expect(old?["revocationDate"].exists == false)
  }

  @Test(arguments: [
    (AppleProduct.plusMonthly, AppleProduct.premiumMonthly),
    (AppleProduct.premiumMonthly, AppleProduct.premiumYearly),
  ])
  func `a downgrade, or a change of duration, waits for the renewal`(
    from: AppleProduct, to: AppleProduct
  ) throws {
    let shop = Shop()
    let id = shop.buy(from)
    shop.store.change(id, to: to)
    #expect(shop.types.last == "DID_CHANGE_RENEWAL_PREF.DOWNGRADE")
    let told = try shop.last()
    #expect(told.transaction?["productId"].string == from.id)
    #expect(told.renewal?["productId"].string == from.id)
    #expect(told.renewal?["autoRenewProductId"].string == to.id)
    shop.go(to: shop.store.expiry(of: id))
    #expect(try shop.last().transaction?["productId"].string == to.id)
  }

  @Test func `a change that is undone has no subtype`() throws {
    let shop = Shop()
    let id = shop.buy(.plusMonthly)
    shop.store.change(id, to: .premiumMonthly)
    shop.store.change(id, to: .plusMonthly)
    #expect(shop.types.last == "DID_CHANGE_RENEWAL_PREF")
    #expect(try shop.last().renewal?["autoRenewProductId"].string == AppleProduct.plusMonthly.id)
  }

  @Test func `a refund of the current period revokes it and stops its renewal`() throws {
    let shop = Shop()
    let id = shop.buy()
    shop.go(.days(3))
    shop.store.refund(id)
    #expect(
      shop.types.suffix(2) == ["DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_DISABLED", "REFUND"])
    let told = try shop.last()
    #expect(told.outer["data"]["status"].integer == 5)
    #expect(told.transaction?["revocationDate"].instant == Shop.start + .days(3))
    #expect(told.transaction?["revocationType"].string == "REFUND_FULL")
    #expect(told.transaction?["revocationPercentage"].integer == 100_000)
    shop.go(.days(60))
    #expect(shop.types.count == 3)
  }

  @Test func `a refund of an earlier period is about that transaction alone`() throws {
    let shop = Shop()
    let id = shop.buy()
    shop.go(to: shop.store.expiry(of: id) + .days(1))
    shop.store.refund(id, percentage: 40_000)
    let told = try shop.last()
    #expect(told.transaction?["transactionId"].string == id)
    #expect(told.transaction?["revocationType"].string == "REFUND_PRORATED")
    #expect(told.outer["data"]["status"].integer == 1)
    #expect(told.renewal?["autoRenewStatus"].integer == 1)
  }

  @Test func `a refund can be reversed and made again, of one transaction`() throws {
    let shop = Shop()
    let id = shop.buy()
    shop.store.refund(id)
    shop.go(.days(2))
    shop.store.reverseRefund(id)
    #expect(try shop.last().transaction?["revocationDate"].exists == false)
    #expect(shop.store.status(of: id) == 1)
    shop.go(.days(2))
    shop.store.refund(id)
    #expect(shop.types.suffix(3) == ["REFUND", "REFUND_REVERSED", "REFUND"])
    #expect(
      try shop.last().transaction?["revocationDate"].instant == Shop.start + .days(4))
  }

  @Test func `a family's member has ids of their own, and loses what is refunded`() throws {
    let shop = Shop()
    let id = shop.buy()
    let member = shop.store.share(id, with: nil)
    let told = try shop.last()
    #expect(told.transaction?["originalTransactionId"].string == member)
    #expect(told.transaction?["inAppOwnershipType"].string == "FAMILY_SHARED")
    #expect(told.transaction?["appAccountToken"].exists == false)
    #expect(member != id)
    shop.go(to: shop.store.expiry(of: id))
    #expect(shop.types.suffix(2) == ["DID_RENEW", "DID_RENEW"])
    shop.store.refund(shop.store.latestTransaction(of: id))
    #expect(shop.types.last == "REVOKE")
    #expect(try shop.last().transaction?["revocationType"].string == "FAMILY_REVOKE")
    #expect(shop.store.status(of: member) == 5)
  }

  @Test func `bought again, it keeps its id; the store's own page names no account`() throws {
    let shop = Shop()
    let id = shop.buy()
    shop.store.turnOffRenewal(id)
    shop.go(.days(100))
    shop.store.resubscribe(id, .plusMonthly)
    #expect(shop.types.last == "SUBSCRIBED.RESUBSCRIBE")
    let told = try shop.last()
    #expect(told.transaction?["originalTransactionId"].string == id)
    #expect(told.transaction?["transactionReason"].string == "PURCHASE")
    #expect(told.transaction?["appAccountToken"].exists == false)
    #expect(told.renewal?["recentSubscriptionStartDate"].instant == shop.clock.now)
  }

  @Test func `an extension moves the end of the same transaction`() throws {
    let shop = Shop()
    let id = shop.buy()
    let end = shop.store.expiry(of: id)
    shop.store.extend(id, days: 14)
    #expect(shop.types.last == "RENEWAL_EXTENDED")
    #expect(try shop.last().transaction?["transactionId"].string == id)
    #expect(try shop.last().transaction?["expiresDate"].instant == end + .days(14))
    shop.go(to: end)
    #expect(shop.types.count == 2)
  }

  @Test func `a trial costs nothing and renews into what is paid`() throws {
    let shop = Shop()
    let id = shop.buy(trialDays: 7)
    let trial = try #require(shop.last().transaction)
    #expect(trial["offerType"].integer == 1)
    #expect(trial["offerDiscountType"].string == "FREE_TRIAL")
    #expect(trial["offerPeriod"].string == "P1W")
    #expect(trial["price"].integer == 0)
    shop.go(.days(7))
    let paid = try #require(shop.last().transaction)
    #expect(paid["offerType"].exists == false)
    #expect(paid["price"].integer == 2990)
    #expect(paid["purchaseDate"].instant == Shop.start + .days(7))
    #expect(shop.store.status(of: id) == 1)
  }

  @Test func `a price rise without consent, and a withdrawn product, end with the period`() {
    let shop = Shop()
    let id = shop.buy()
    shop.store.raisePrice(id)
    shop.go(to: shop.store.expiry(of: id))
    #expect(shop.types.suffix(2) == ["PRICE_INCREASE.PENDING", "EXPIRED.PRICE_INCREASE"])
    let other = shop.buy(.plusMonthly)
    shop.store.withdraw(.plusMonthly)
    shop.go(to: shop.store.expiry(of: other))
    #expect(shop.types.last == "EXPIRED.PRODUCT_NOT_FOR_SALE")
  }

  @Test func `a price rise with consent renews`() {
    let shop = Shop()
    let id = shop.buy()
    shop.store.raisePrice(id)
    shop.store.acceptPrice(id)
    shop.go(to: shop.store.expiry(of: id))
    #expect(shop.types.suffix(2) == ["PRICE_INCREASE.ACCEPTED", "DID_RENEW"])
  }

  @Test func `the sandbox renews every five minutes, twelve times`() throws {
    let shop = Shop { $0.environment = .sandbox }
    let id = shop.buy()
    let told = try shop.last()
    #expect(told.outer["data"]["environment"].string == "Sandbox")
    #expect(told.outer["data"]["appAppleId"].exists == false)
    #expect(shop.store.expiry(of: id) == Shop.start + .minutes(5))
    shop.go(.hours(3))
    #expect(shop.types.count { $0 == "DID_RENEW" } == 12)
    #expect(shop.types.last == "EXPIRED.VOLUNTARY")
  }
}
