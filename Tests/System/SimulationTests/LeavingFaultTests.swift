import Base
import BillingSimulation
import Configuration
import Flows
import ProviderFakes
import Storage
import TestEngines
import Testing

/// Each call that reports an account's end to a store fails in each way. The store still gets it once,
/// nothing is charged afterwards, and nothing of the account stays.
struct LeavingFaultTests {
  private struct End {
    let way: RoughWay
    let callsBefore: Int
    let status: String
    let isCancelling: Bool
    let isErased: Bool
    let keptBodies: [String]
    let chargeCount: Int
  }

  /// An account buys, requests its deletion, and is erased; then more than a month passes.
  private func lived(_ policy: DeletionPolicy, _ mishap: (RoughWay.Mishap, Int)?) throws -> End {
    let shop = try BuyingShop(.sqlite, deleting: policy)
    shop.delivers = true
    try shop.installation.beginRounds()
    let id = shop.stripe.buy(account: shop.account)
    try shop.pass(.hours(6))
    let before = shop.way.callCount
    if let (mishap, call) = mishap { shop.way.plan(mishap, atCall: call) }
    try shop.askForEnd()
    try shop.pass(.days(7))
    let isCancelling = shop.stripe.isCancelling(id)
    try shop.beginErasing()
    try shop.pass(.days(1))
    let kept = try shop.keptBodies
    let status = shop.stripe.status(of: id)
    try shop.pass(.days(40))
    return End(
      way: shop.way, callsBefore: before, status: status, isCancelling: isCancelling,
      isErased: try shop.isErased, keptBodies: kept + (try shop.keptBodies),
      chargeCount: shop.stripe.chargeCount)
  }

  @Test(arguments: [DeletionPolicy.periodEnd, .now])
  func `every mishap at every call ends as calm weather does`(policy: DeletionPolicy) throws {
    let calm = try lived(policy, nil)
    #expect(calm.status == (policy == .now ? "canceled" : "active"))
    let calls = calm.callsBefore..<calm.way.callCount
    try #require(calls.count >= 2)
    // In a short run each call gets one of the mishaps, by turns.
    let all = RoughWay.Mishap.allCases
    for call in calls {
      for (index, mishap) in all.enumerated()
      where TestRun.isFull || (index + call).isMultiple(of: all.count) {
        let end = try lived(policy, (mishap, call))
        let place = "\(mishap) at \(calm.way.calls[call])"
        #expect(end.status == calm.status, "\(place)")
        #expect(end.isCancelling, "\(place)")
        #expect(end.isErased, "\(place)")
        #expect(end.keptBodies.isEmpty, "\(place)")
        #expect(end.chargeCount == 1, "\(place)")
      }
    }
  }

  @Test func `an account of which something cannot be read keeps no other from leaving`() throws {
    let shop = try BuyingShop(.sqlite)
    try shop.installation.beginRounds()
    let flow = try shop.ask(.subscribe("pm_card_visa"))
    try shop.installation.database.write(for: nil) { transaction in
      try transaction.execute(
        "UPDATE billing.flows SET step = 'of another version' WHERE id = $1", .id(flow.id))
    }
    try shop.askForEnd()
    try shop.eraseUnheard(daysAgo: 0)
    try shop.pass(.hours(1))
    #expect(try shop.leavingStates == ["erased", "stopping"])
    let told = try shop.installation.database.read { reader in
      try reader.rows(
        "SELECT last_error FROM billing.jobs WHERE kind = 'leaving' AND failing_since_ms > 0"
      ) {
        try $0.optionalText(0)
      }
    }
    #expect(told.count == 1)
  }

  @Test func `an operation that cannot be read keeps no store from stopping, and is erased`()
    throws
  {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    try shop.installation.beginRounds()
    let id = shop.stripe.buy(account: shop.account)
    try shop.pass(.hours(6))
    let flow = try shop.ask(.card("pm_card_visa"))
    try shop.installation.database.write(for: nil) { transaction in
      try transaction.execute(
        "UPDATE billing.flows SET step = 'of another version' WHERE id = $1", .id(flow.id))
    }
    try shop.askForEnd()
    try shop.pass(.hours(1))
    #expect(shop.stripe.isCancelling(id))
    try shop.pass(.days(7))
    try shop.beginErasing()
    try shop.pass(.days(1))
    #expect(try shop.isErased)
  }

  @Test func `a store that fails once when the erasure has begun is asked again`() throws {
    func lived(failing call: Int?) throws -> (shop: BuyingShop, late: String) {
      let shop = try BuyingShop(.sqlite)
      shop.delivers = true
      try shop.installation.beginRounds()
      if let call { shop.way.plan(.unreachable, atCall: call) }
      try shop.askForEnd()
      try shop.pass(.minutes(7 * 24 * 60 - 90))
      let late = shop.stripe.buy(account: shop.account)
      try shop.pass(.minutes(60))
      try shop.beginErasing()
      try shop.pass(.hours(6))
      return (shop, late)
    }
    let calm = try lived(failing: nil)
    let stop = "POST https://stripe.fake/v1/subscriptions/\(calm.late)"
    let call = try #require(calm.shop.way.calls.firstIndex(of: stop))
    let (shop, late) = try lived(failing: call)
    #expect(shop.stripe.isCancelling(late))
    #expect(try shop.isErased)
  }

  @Test func `an account whose leaving cannot be noted keeps no other from leaving`() throws {
    let shop = try BuyingShop(.sqlite)
    try shop.installation.beginRounds()
    let database = shop.installation.database
    // The second of two requests of one moment fails.
    try database.write(for: nil) { transaction in
      try transaction.execute(
        "CREATE UNIQUE INDEX billing.one_moment ON account_deletions (asked_ms)")
    }
    for days: Int64 in [1, 1, 0] { try shop.eraseUnheard(daysAgo: days) }
    try shop.pass(.hours(1))
    #expect(try shop.leavingStates == ["erased", "erased"])
    #expect(try shop.unheardCount == 1)
    try database.write(for: nil) { try $0.execute("DROP INDEX billing.one_moment") }
    try shop.pass(.hours(1))
    #expect(try shop.leavingStates == ["erased", "erased", "erased"])
  }

  @Test func `a hundred accounts whose leaving cannot be noted keep no later one from leaving`()
    throws
  {
    let shop = try BuyingShop(.sqlite)
    try shop.installation.beginRounds()
    try shop.installation.database.write(for: nil) { transaction in
      try transaction.execute(
        "CREATE UNIQUE INDEX billing.one_moment ON account_deletions (asked_ms)")
    }
    // Of the requests of one moment only the first can be noted.
    for _ in 0...100 { try shop.eraseUnheard(daysAgo: 1) }
    try shop.eraseUnheard(daysAgo: 0)
    try shop.pass(.hours(1))
    #expect(try shop.leavingStates == ["erased", "erased"])
  }

  @Test func `a page that cannot be closed at once is closed before its purchase is forgotten`()
    throws
  {
    let shop = try BuyingShop(.sqlite)
    try shop.installation.beginRounds()
    shop.client = .isAway
    let flow = try shop.ask(.checkout())
    try shop.pass(.minutes(5))
    try #require(try shop.flow(flow.id).status == .requiresAction)
    for call in shop.way.callCount..<(shop.way.callCount + 30) {
      shop.way.plan(.unreachable, atCall: call)
    }
    try shop.eraseAtOnce()
    // Half as long as the page would stay open.
    try shop.pass(.hours(12))
    #expect(shop.stripe.openSessionCount == 0)
    #expect(try shop.isErased)
  }

  @Test func `a store that refuses for ever holds the erasure up for three days, and kills no job`()
    throws
  {
    let shop = try BuyingShop(.sqlite)
    shop.delivers = true
    try shop.installation.beginRounds()
    _ = shop.stripe.buy(account: shop.account)
    try shop.pass(.hours(6))
    try shop.askForEnd()
    shop.way.refuseAll()
    try shop.pass(.days(7))
    try shop.beginErasing()
    try shop.pass(.days(1))
    #expect(try shop.isErased)
    #expect(try shop.keptBodies.isEmpty)
    #expect(
      try shop.installation.count(
        "SELECT count(*) FROM billing.jobs WHERE kind = 'leaving' AND dead = 1") == 0)
  }
}
