import Answers
import Base
import Billing
import Crypto
import Google
import KnownStores
import Ledger
import Storage
import Testing

/// Google's answers may for a while not show a change that its push has announced.
struct AnnouncementTests {
  private static let token = "token-1"

  private let shop: PlayShop
  private let account = Random.identifier()

  init() throws {
    shop = try PlayShop()
    sell()
    #expect(try shop.push(Self.token, 4) == 200)
    try pass(minutes: 5)
    #expect(try shop.cap(of: account) == 1000)
    shop.now = day(3)
    try pass(minutes: 5)
  }

  /// Sets what Google's API answers from now on.
  private func sell(_ state: String = "ACTIVE", until end: Instant? = nil) {
    shop.play.sell(
      Self.token, at: day(1), account: account, state: state, until: end, isAcknowledged: true)
  }

  private func pass(minutes: Int) throws {
    for _ in 0..<minutes {
      shop.now = shop.now + .minutes(1)
      try shop.runDue()
    }
  }

  /// In larger steps, for times in which nothing is expected to happen.
  private func pass(hours: Int) throws {
    for _ in 0..<(hours * 4) {
      shop.now = shop.now + .minutes(15)
      try shop.runDue()
    }
  }

  private var attention: [Attention] {
    get throws {
      try shop.database.read { reader in
        try AttentionList(at: shop.now, limit: 99, stores: .known, reading: reader)
      }.items.filter { $0.kind == .unconfirmed }
    }
  }

  @Test(arguments: [2, 10, 45, 300])
  func `a revocation that its answers show late ends the plan soon after they do`(
    lateMinutes: Int
  ) throws {
    #expect(try shop.push(Self.token, 12) == 200)
    #expect(try shop.push(Self.token, 12) == 200)
    try pass(minutes: lateMinutes)
    #expect(try shop.cap(of: account) == 1000)
    sell("EXPIRED", until: shop.now - .minutes(1))
    // Twice the delay in all; at most 61 minutes after the answers show it.
    try pass(minutes: min(lateMinutes + 2, 61))
    #expect(try shop.cap(of: account) == 10)
    try pass(hours: 50)
    #expect(try attention.isEmpty)
  }

  @Test func `what is never shown is read a few dozen times, and then told to a human`() throws {
    let before = shop.play.reads.count
    #expect(try shop.push(Self.token, 12) == 200)
    try pass(minutes: 23 * 60)
    #expect(try attention.isEmpty)
    try pass(minutes: 120)
    #expect(try attention.map(\.detail) == ["SUBSCRIPTION_REVOKED"])
    #expect((10...40).contains(shop.play.reads.count - before))
    let reads = shop.play.reads.count
    try pass(hours: 24)
    #expect(shop.play.reads.count == reads)
    // A read that someone requests settles the item.
    sell("EXPIRED", until: day(3))
    let (service, key) = (shop.service, try #require(PurchaseToken(Self.token)).objectKey)
    try shop.database.write(for: nil) { try service.reread(key, in: $0) }
    try pass(minutes: 2)
    #expect(try attention.isEmpty)
    #expect(try shop.cap(of: account) == 10)
  }

  @Test func `a renewal that its answers show late is read until they do`() throws {
    shop.now = day(31)
    #expect(try shop.push(Self.token, 2) == 200)
    try pass(minutes: 20)
    sell(until: day(61))
    try pass(minutes: 25)
    shop.now = day(40)
    #expect(try shop.cap(of: account) == 1000)
    try pass(minutes: 5)
    #expect(try attention.isEmpty)
  }

  @Test func `what is announced later takes the place of what was announced before`() throws {
    #expect(try shop.push(Self.token, 13) == 200)
    shop.now = shop.now + .minutes(1)
    #expect(try shop.push(Self.token, 2) == 200)
    try pass(minutes: 5)
    let reads = shop.play.reads.count
    try pass(hours: 34)
    #expect(shop.play.reads.count == reads)
    #expect(try attention.isEmpty)
  }
}
