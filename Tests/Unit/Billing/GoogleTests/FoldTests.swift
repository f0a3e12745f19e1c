import Base
import Google
import StoreFacts
import Subscriptions
import Testing

/// The coverage of Google Play purchases in the cases that most systems get wrong.
struct FoldTests {
  private typealias F = StoreFacts

  @Test func `an upgrade paid by pending cash leaves the old plan until the new is granted`() {
    let old = F.purchase(.active, 0, 30)
    let pending = F.purchase(.pending, nil, nil, id: "b2", product: "plus", replaces: "a1")
    #expect(F.label(F.googleKey, [old, pending], day: 9) == .active)
    let granted = F.purchase(
      .active, 10, 40, id: "b2", readNumber: 2, product: "plus", replaces: "a1")
    #expect(F.label(F.googleKey, [old, pending, granted], day: 9) == .active)
    #expect(F.label(F.googleKey, [old, pending, granted], day: 11) == .superseded)
  }

  @Test func `on hold, then cancelled with a past expiry: no access`() {
    let facts = [
      F.purchase(.onHold, 0, 30), F.purchase(.canceled, 0, 30, readNumber: 2, renews: false),
    ]
    #expect(F.label(F.googleKey, facts, day: 35) == .expired)
  }

  @Test func `what is no storage is waited for while it renews, and then over`() {
    let facts = [F.purchase(.active, 0, 30, product: "stickers")]
    let cancelled = F.purchase(
      .canceled, 0, 30, readNumber: 2, product: "stickers", renews: false)
    #expect(F.label(F.googleKey, facts, day: 9) == .pending)
    #expect(F.label(F.googleKey, facts + [cancelled], day: 9) == .expired)
  }

  @Test func `a voluntary cancel ends exactly at the period's end`() {
    let facts = [
      F.purchase(.active, 0, 30), F.purchase(.canceled, 0, 30, readNumber: 2, renews: false),
    ]
    #expect(
      F.schedule(F.googleKey, facts) == ["day 0 premium subscribed", "day 30 free lapsed"])
  }

  @Test(arguments: [
    GooglePurchase.State.pending, .paused, .onHold, .expired, .pendingPurchaseCanceled,
    .other("NEW"),
  ])
  func `every other state gives none`(state: GooglePurchase.State) {
    let facts = [F.purchase(state, 0, 30)]
    #expect(!F.label(F.googleKey, facts, day: 9).givesAccess)
  }

  @Test func `a void order only flags and cuts nothing by itself`() {
    let facts = [F.purchase(.active, 0, 30, order: "o1"), F.order("o1", .refunded)]
    #expect(F.label(F.googleKey, facts, day: 9) == .active)
    let coverage = F.subscription(F.googleKey, facts)
      .coverage(policy: .standard, catalogue: F.catalogue)
    #expect(coverage.alarms == [.reversal(.voidedOrder, object: "o1")])
  }

  @Test func `a void order that the purchase ended with took what it paid for`() {
    let facts = [F.purchase(.expired, 0, 30, order: "o1"), F.order("o1", .refunded)]
    let coverage = F.subscription(F.googleKey, facts)
      .coverage(policy: .standard, catalogue: F.catalogue)
    #expect(coverage.alarms.isEmpty)
  }
}
