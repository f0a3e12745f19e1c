import Base
import JSON
import ProviderFakes
import Testing

/// The worked sequences of Google's rules: the notifications, and what a read then shows.
@Suite struct GoogleLifecycleTests {
  private typealias Shop = GoogleShop

  private func bought(_ plan: GooglePlan = Shop.monthly) -> (Shop, String) {
    let shop = Shop()
    let token = shop.store.buy(plan, for: Shop.owner)
    shop.store.acknowledge(token)
    return (shop, token)
  }

  @Test func `a purchase renews, is cancelled and expires at its end`() throws {
    let (shop, token) = bought()
    #expect(try shop.shows(token) == "ACTIVE \(shop.end)")
    shop.go(to: shop.end)
    #expect(try shop.shows(token) == "ACTIVE \(Shop.start.adding(months: 2))")
    shop.days(3)
    shop.store.cancel(token)
    #expect(try shop.shows(token) == "CANCELED \(Shop.start.adding(months: 2))")
    shop.go(to: Shop.start.adding(months: 2))
    #expect(try shop.shows(token) == "EXPIRED \(Shop.start.adding(months: 2))")
    #expect(shop.told == ["PURCHASED", "RENEWED", "CANCELED", "EXPIRED"])
  }

  @Test func `a failed renewal is silent for a day, then grace moves the expiry`() throws {
    let (shop, token) = bought()
    shop.store.breakCard(token)
    shop.go(to: shop.end + .hours(23))
    #expect(try shop.shows(token) == "ACTIVE \(shop.end)")
    #expect(shop.told == ["PURCHASED"])
    shop.go(to: shop.end + .hours(24))
    #expect(try shop.shows(token) == "IN_GRACE_PERIOD \(shop.end + .days(7))")
    #expect(
      try shop.read(token)["lineItems"][0]["autoRenewingPlan"]["autoRenewEnabled"].bool == true)
    let pending = try shop.read(token)["inGracePeriodStateContext"]["renewalDeclined"]
    #expect(pending["pendingOrderId"].string == shop.store.orders(of: token).last)
  }

  @Test func `what recovers in grace renews as if it had been paid in time`() throws {
    let (shop, token) = bought()
    shop.store.breakCard(token)
    shop.go(to: shop.end + .days(3))
    shop.store.repairCard(token)
    #expect(try shop.shows(token) == "ACTIVE \(shop.end.adding(months: 1))")
    #expect(shop.told == ["PURCHASED", "IN_GRACE_PERIOD", "RENEWED"])
  }

  @Test func `what recovers from a hold is billed from that day on`() throws {
    let (shop, token) = bought()
    shop.store.breakCard(token)
    shop.go(to: shop.end + .days(7))
    #expect(try shop.shows(token) == "ON_HOLD \(shop.end + .days(7))")
    shop.go(to: shop.end + .days(20))
    shop.store.repairCard(token)
    #expect(try shop.shows(token) == "ACTIVE \((shop.end + .days(20)).adding(months: 1))")
    #expect(shop.told == ["PURCHASED", "IN_GRACE_PERIOD", "ON_HOLD", "RECOVERED"])
  }

  @Test func `a hold that nobody pays is cancelled with a past expiry, then expires`() throws {
    let (shop, token) = bought()
    shop.store.breakCard(token)
    shop.go(to: shop.end + .days(60))
    #expect(try shop.shows(token) == "CANCELED \(shop.end + .days(7))")
    #expect(try shop.read(token)["canceledStateContext"]["systemInitiatedCancellation"].isObject)
    shop.days(1)
    #expect(try shop.shows(token) == "EXPIRED \(shop.end + .days(7))")
    #expect(shop.told.suffix(3) == ["ON_HOLD", "CANCELED", "EXPIRED"])
  }

  @Test func `without grace a day of silence ends in the hold`() throws {
    let (shop, token) = bought(Shop.studio)
    shop.store.breakCard(token)
    shop.go(to: shop.end + .hours(24))
    #expect(try shop.shows(token) == "ON_HOLD \(shop.end)")
    #expect(shop.told == ["PURCHASED", "ON_HOLD"])
  }

  @Test func `a pause begins at the renewal date and ends by itself with a new date`() throws {
    let (shop, token) = bought()
    shop.store.schedulePause(token, .days(14))
    #expect(try shop.shows(token) == "ACTIVE \(shop.end)")
    shop.go(to: shop.end)
    #expect(try shop.shows(token) == "PAUSED \(shop.end)")
    let resumes = try shop.read(token)["pausedStateContext"]["autoResumeTime"].string
    #expect(resumes == (shop.end + .days(14)).description)
    shop.days(14)
    #expect(try shop.shows(token) == "ACTIVE \((shop.end + .days(14)).adding(months: 1))")
    #expect(shop.told == ["PURCHASED", "PAUSE_SCHEDULE_CHANGED", "PAUSED", "RECOVERED"])
  }

  @Test func `a pause whose end is not paid becomes a hold`() throws {
    let (shop, token) = bought()
    shop.store.schedulePause(token, .days(7))
    shop.store.breakCard(token)
    shop.go(to: shop.end + .days(7))
    #expect(try shop.shows(token) == "ON_HOLD \(shop.end)")
    #expect(shop.told.suffix(2) == ["PAUSED", "ON_HOLD"])
  }

  @Test func `a planned pause that is taken back never begins`() throws {
    let (shop, token) = bought()
    shop.store.schedulePause(token, .days(7))
    shop.store.unschedulePause(token)
    shop.go(to: shop.end)
    #expect(try shop.shows(token) == "ACTIVE \(shop.end.adding(months: 1))")
  }

  @Test func `a cancel is undone before the end`() throws {
    let (shop, token) = bought()
    shop.days(5)
    shop.store.cancel(token)
    #expect(try !shop.read(token)["lineItems"][0]["autoRenewingPlan"]["autoRenewEnabled"].exists)
    shop.days(5)
    shop.store.restore(token)
    #expect(try shop.shows(token) == "ACTIVE \(shop.end)")
    #expect(
      try shop.read(token)["lineItems"][0]["autoRenewingPlan"]["autoRenewEnabled"].bool == true)
    #expect(shop.told == ["PURCHASED", "CANCELED", "RESTARTED"])
  }

  @Test func `a refund that revokes ends at once and tells it twice`() throws {
    let (shop, token) = bought()
    shop.days(10)
    shop.store.refund(try #require(shop.store.orders(of: token).last), revoking: true)
    #expect(try shop.shows(token) == "EXPIRED \(Shop.start + .days(10))")
    #expect(shop.told == ["PURCHASED", "REVOKED", "VOIDED_PURCHASE"])
  }

  @Test func `a refund that does not revoke is told nowhere and keeps access`() throws {
    let (shop, token) = bought()
    let order = try #require(shop.store.orders(of: token).last)
    shop.store.refund(order, revoking: false)
    #expect(try shop.shows(token) == "ACTIVE \(shop.end)")
    #expect(shop.told == ["PURCHASED"])
    let answer = shop.store.readOrder(order, asOf: shop.clock.now)
    #expect(try JSON.parse(answer.body)["state"].string == "REFUNDED")
  }

  @Test func `a chargeback of an earlier order leaves the present period alone`() throws {
    let (shop, token) = bought()
    shop.go(to: shop.end + .days(2))
    let orders = shop.store.orders(of: token)
    #expect(orders == [orders[0], orders[0] + "..0"])
    shop.store.chargeBack(orders[0])
    #expect(try shop.shows(token) == "ACTIVE \(shop.end.adding(months: 1))")
    #expect(shop.told == ["PURCHASED", "RENEWED", "VOIDED_PURCHASE"])
  }

  @Test func `what nobody acknowledges for three days is refunded and revoked`() throws {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner)
    shop.go(to: Shop.start + .days(3) - .seconds(1))
    #expect(try shop.read(token)["acknowledgementState"].string == "ACKNOWLEDGEMENT_STATE_PENDING")
    shop.go(to: Shop.start + .days(3))
    #expect(try shop.shows(token) == "EXPIRED \(Shop.start + .days(3))")
    #expect(shop.told == ["PURCHASED", "REVOKED", "VOIDED_PURCHASE"])
    #expect(shop.store.truth(of: token).wasAcknowledgedInTime(at: shop.clock.now) == false)
  }

  @Test func `renewals need no acknowledgement`() throws {
    let (shop, token) = bought()
    shop.go(to: shop.end + .days(10))
    #expect(try shop.read(token)["subscriptionState"].string == "SUBSCRIPTION_STATE_ACTIVE")
    #expect(shop.store.truth(of: token).wasAcknowledgedInTime(at: shop.clock.now) == true)
  }

  @Test func `a token answers until 60 days after the expiry, then it is gone`() throws {
    let (shop, token) = bought()
    shop.store.cancel(token)
    shop.go(to: shop.end + .days(60) - .milliseconds(1))
    #expect(shop.status(token) == 200)
    shop.go(to: shop.end + .days(60))
    #expect(shop.status(token) == 410)
  }

  @Test func `a trial renews into the first paid period`() throws {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner, trialDays: 14)
    shop.store.acknowledge(token)
    #expect(try shop.read(token)["lineItems"][0]["offerPhase"]["freeTrial"].isObject)
    let end = Shop.start + .days(14)
    shop.go(to: end)
    #expect(try shop.shows(token) == "ACTIVE \(end.adding(months: 1))")
    #expect(try shop.read(token)["lineItems"][0]["offerPhase"]["basePrice"].isObject)
  }

  @Test func `time given by the seller moves the renewal date`() throws {
    let (shop, token) = bought()
    shop.store.postpone(token, by: .days(30))
    #expect(try shop.shows(token) == "ACTIVE \(shop.end + .days(30))")
    #expect(shop.told == ["PURCHASED", "DEFERRED"])
  }

  @Test func `a tester's purchase says so, renews in minutes and ends after six renewals`() throws {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner, isTest: true)
    #expect(try shop.read(token)["testPurchase"].isObject)
    shop.store.acknowledge(token)
    shop.clock.advance(by: .hours(1))
    #expect(
      shop.told == ["PURCHASED"] + Array(repeating: "RENEWED", count: 6) + ["CANCELED", "EXPIRED"])
  }
}
