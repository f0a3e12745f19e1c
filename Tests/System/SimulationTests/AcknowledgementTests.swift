import Base
import Billing
import BillingSimulation
import Jobs
import Ledger
import ProviderFakes
import Testing

/// Google cancels a purchase that is not acknowledged within 72 hours. A purchase is acknowledged once its
/// owner is known, however it became known.
struct AcknowledgementTests {
  /// How the owner of a purchase becomes known after it was read.
  enum Way: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case transfer = "an admin's transfer"
    case claim = "a claim"
    case claimOfTheReplaced = "a claim of the purchase that it replaces"
    case transferOfTheReplaced = "a transfer of the purchase that it replaces"
    case claimOfTheContinued = "a claim of the expired purchase that it continues"
    case claimOfTheFirstOfThree = "a claim of the first purchase of a chain"
    case lateRead = "a late read of the purchase that it replaces"
    case lateLink = "a read of its own that links it to a purchase with an owner"

    var testDescription: String { rawValue }
  }

  /// Leaves a purchase that was read while no account owned it. Returns it, and a closure that reveals its
  /// owner.
  private func begin(
    _ way: Way, _ shop: PlayShop
  ) throws -> (token: String, reveal: () throws -> Void) {
    let store = shop.store
    let first = store.buy(.premiumMonthly, for: PlayShop.account, namesOwner: false)
    func replaced(_ token: String) throws -> String {
      try shop.pass(.hours(1))
      let next = store.replace(token, with: .plusMonthly, .chargeFullPrice)
      try shop.pass(.hours(2))
      return next
    }
    switch way {
    case .transfer:
      try shop.pass(.hours(2))
      return (first, { try shop.transfer(first) })
    case .claim:
      try shop.pass(.hours(2))
      return (first, { try shop.claim(first) })
    case .claimOfTheReplaced: return (try replaced(first), { try shop.claim(first) })
    case .transferOfTheReplaced: return (try replaced(first), { try shop.transfer(first) })
    case .claimOfTheFirstOfThree:
      return (try replaced(try replaced(first)), { try shop.claim(first) })
    case .claimOfTheContinued:
      try shop.pass(.hours(1))
      store.refund(store.orders(of: first)[0], revoking: true)
      try shop.pass(.hours(1))
      let second = store.resubscribeOutsideApp(first)
      try shop.pass(.hours(2))
      return (second, { try shop.claim(first) })
    case .lateRead:
      store.refuseReads(of: first, status: 503)
      let second = try replaced(first)
      store.acknowledge(first, accountID: PlayShop.account)
      return (second, { store.refuseReads(of: first, status: nil) })
    case .lateLink:
      try shop.pass(.hours(1))
      let second = store.replace(first, with: .plusMonthly, .chargeFullPrice)
      store.refuseReads(of: second, status: 503)
      try shop.pass(.hours(2))
      try shop.claim(first)
      return (second, { store.refuseReads(of: second, status: nil) })
    }
  }

  @Test(arguments: Way.allCases)
  func `whatever tells the owner of a purchase has it acknowledged in time`(way: Way) throws {
    let shop = try PlayShop()
    let (token, reveal) = try begin(way, shop)
    #expect(shop.isAcknowledgedInTime(token) == nil)
    try reveal()
    try shop.pass(.hours(72))
    #expect(shop.isAcknowledgedInTime(token) == true)
  }

  @Test func `the decision that gives an owner asks for it in its own transaction`() throws {
    let shop = try PlayShop()
    let token = shop.store.buy(.premiumMonthly, for: nil, namesOwner: false)
    try shop.pass(.hours(2))
    #expect(try shop.acknowledgement(of: token) == nil)
    try shop.transfer(token)
    #expect(try shop.acknowledgement(of: token)?.state == .waiting)
  }

  /// The purchase is read again a minute later.
  @Test func `nobody is called for what the store was told and has not shown yet`() throws {
    let shop = try PlayShop()
    let token = shop.store.buy(.premiumMonthly, for: PlayShop.account)
    try shop.pass(.seconds(20))
    try #require(shop.acknowledgement(of: token)?.state == .settled)
    #expect(try shop.installation.attention().isEmpty)
  }

  @Test func `what the store could not be told is told to a human at once`() throws {
    let shop = try PlayShop()
    let token = shop.store.buy(.premiumMonthly, for: nil, namesOwner: false)
    try shop.pass(.hours(2))
    shop.store.faults.fail(next: Array(repeating: .status(503, retryAfter: nil), count: 9))
    try shop.transfer(token)
    try shop.pass(.seconds(20))
    #expect(try shop.installation.attention().map(\.kind) == [.unacknowledged])
  }

  @Test func `what is acknowledged already is not acknowledged for its next owner`() throws {
    let shop = try PlayShop()
    let token = shop.store.buy(.premiumMonthly, for: nil, namesOwner: false)
    shop.store.acknowledge(token)
    try shop.pass(.hours(2))
    try shop.transfer(token)
    #expect(try shop.acknowledgement(of: token) == nil)
  }

  @Test func `a purchase that is pending is acknowledged once it is paid, not before`() throws {
    let shop = try PlayShop()
    let token = shop.store.buy(.premiumMonthly, for: nil, namesOwner: false, isPending: true)
    try shop.claim(token)
    try shop.pass(.hours(2))
    #expect(try shop.acknowledgement(of: token) == nil)
    shop.store.payPending(token)
    try shop.pass(.hours(72))
    #expect(shop.isAcknowledgedInTime(token) == true)
  }
}
