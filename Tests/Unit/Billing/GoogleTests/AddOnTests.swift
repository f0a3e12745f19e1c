import Base
import Google
import StoreFacts
import Subscriptions
import Testing
import Tiers

/// Purchases of several items: a plan and additions to it.
struct AddOnTests {
  private typealias F = StoreFacts

  private func item(
    _ product: String, to end: Double?, order: String? = "o1", isLeaving: Bool = false
  ) -> GooglePurchase.Item {
    GooglePurchase.Item(
      productID: product, expiryTime: end.map { at($0) }, autoRenews: true, latestOrderID: order,
      isLeaving: isLeaving)
  }

  private func coverage(
    _ state: GooglePurchase.State, _ items: [GooglePurchase.Item], ended: Double? = nil
  ) -> Coverage {
    let purchase = GooglePurchase(
      state: state, startTime: at(0), items: items, ended: ended.map { at($0) })
    let fact = Fact(
      key: F.googleKey, object: GoogleObject.purchase(purchase), asOf: .readNumber(1))
    return F.subscription(F.googleKey, [fact]).coverage(policy: .standard, catalogue: F.catalogue)
  }

  private func cap(_ coverage: Coverage, day: Double) -> Int64 {
    Schedule([coverage], catalogue: F.catalogue).entry(at: at(day)).capByteCount
  }

  @Test func `a plan and each of its add-ons are added up`() {
    let coverage = coverage(
      .active, [item("premium", to: 30), item("extra", to: 30), item("more", to: 30)])
    #expect(cap(coverage, day: 9) == 1000 + 100 + 10)
  }

  @Test func `each item counts to its own end, and the plan's leeway carries no add-on that goes`()
  {
    let coverage = coverage(
      .active, [item("premium", to: 30), item("extra", to: 30, isLeaving: true)])
    #expect(cap(coverage, day: 29) == 1100)
    #expect(cap(coverage, day: 30.5) == 1000)
  }

  @Test func `an add-on that is not owned yet adds nothing`() {
    let coverage = coverage(.active, [item("premium", to: 30), item("extra", to: nil)])
    #expect(cap(coverage, day: 9) == 1000)
    #expect(coverage.alarms.isEmpty)
  }

  @Test func `a hold takes every item from its beginning on, whatever time an item has left`() {
    let coverage = coverage(
      .onHold, [item("premium", to: 300), item("extra", to: 30)], ended: 30)
    #expect(cap(coverage, day: 29) == 1100)
    #expect(cap(coverage, day: 31) == 10)
    #expect(coverage.entry(at: at(31)) == nil)
  }

  /// Whether an answer with these items shows what was announced on that day.
  private func shows(
    _ reason: String, day: Double, _ state: GooglePurchase.State, _ items: [GooglePurchase.Item],
    ended: Double? = nil
  ) -> Bool? {
    let purchase = GooglePurchase(
      state: state, startTime: at(0), items: items, ended: ended.map { at($0) })
    var record = GoogleRecord(id: "p")
    record.insert(.purchase(purchase), id: "p", asOf: .readNumber(1), delivery: 1)
    return GoogleStore().shows(reason, announced: at(day), record)
  }

  @Test func `a hold does not show a recovery, whatever time an item has left`() {
    let reason = "SUBSCRIPTION_RECOVERED"
    let held = [item("premium", to: 300), item("extra", to: 30)]
    #expect(shows(reason, day: 40, .onHold, held, ended: 30) == false)
    let paid = [item("premium", to: 310), item("extra", to: 70)]
    #expect(shows(reason, day: 40, .active, paid) == true)
  }

  @Test func `an active add-on that is due does not show a hold, whatever time the plan has left`()
  {
    let reason = "SUBSCRIPTION_ON_HOLD"
    #expect(
      shows(reason, day: 31, .active, [item("premium", to: 300), item("extra", to: 30)]) == false)
    #expect(
      shows(reason, day: 31, .active, [item("premium", to: 300), item("extra", to: 60)]) == true)
  }

  @Test func `an item that comes back without an order is a courtesy and an alarm`() {
    let coverage = coverage(
      .active, [item("premium", to: 300, order: nil), item("extra", to: 30)])
    #expect(coverage.entry(at: at(100))?.why == .courtesy)
    #expect(coverage.alarms == [.unpaidItem(product: "premium")])
  }
}
