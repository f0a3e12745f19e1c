import Answers
import Apple
import Base
import Crypto
import JSON
import KnownStores
import Ledger
import Repair
import Storage
import Subscriptions
import TestEngines
import Testing
import Tiers

/// The parts of a purchase that move to another Coffer after its first owner was erased.
struct BelongingsTests {
  private let ada = Random.identifier()
  private let bob = Random.identifier()
  private let original = "2000000\(Int64.random(in: 100_000_000...999_999_999))"
  private let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: AppleSample.catalogue))

  private var key: ObjectKey {
    ObjectKey(provider: .apple, environment: .live, kind: .subscription, id: original)
  }

  private func transaction(signed moment: Instant) -> String {
    AppleSample.transaction(original, day: 0, account: ada, signed: moment)
  }

  /// A shop in which ada bought a purchase and was erased, and bob restored the purchase.
  private func restored(_ engine: TestEngine = .sqlite) throws -> Shop {
    let shop = try Shop(engine)
    #expect(try shop.notify("n1", transaction(signed: day(1)), at: day(1)) == 200)
    let (ada, ledger) = (ada, ledger)
    while try shop.database.write(for: nil, { try ledger.erase(ada, at: day(1), in: $0) }) {}
    let claimed = try shop.post(
      ["provider": "apple", "transaction": .string(transaction(signed: day(2)))],
      by: shop.device(of: bob))
    #expect(claimed == (200, "owned"))
    return shop
  }

  private func belongings(_ shop: Shop) throws -> Belongings {
    try shop.database.read { try ledger.belongings(of: bob, reading: $0) }
  }

  @Test(arguments: TestEngine.available)
  func `a claim holds where nobody knows that the account is gone whom the store names`(
    engine: TestEngine
  ) throws {
    let decided = try belongings(try restored(engine)).decided
    let there = try Shop(engine)
    let (bob, ledger) = (bob, ledger)
    try there.database.write(for: nil) { transaction in
      try ledger.takeIn(decided, of: bob, at: day(3), in: transaction)
    }
    #expect(try there.notify("n1", transaction(signed: day(3)), at: day(3)) == 200)
    #expect(try there.owner(of: key) == bob)
    #expect(try there.cap(of: bob, at: day(4)) == 1000)
  }

  @Test func `what goes on from there says the same again`() throws {
    let decided = try belongings(try restored()).decided
    let there = try Shop()
    let (bob, ledger) = (bob, ledger)
    try there.database.write(for: nil) { transaction in
      try ledger.takeIn(decided, of: bob, at: day(3), in: transaction)
    }
    #expect(try belongings(there).decided.map(\.json) == decided.map(\.json))
  }

  @Test(arguments: TestEngine.available)
  func `a body that was erased stays behind, and its subscription is named`(
    engine: TestEngine
  ) throws {
    let belongings = try belongings(try restored(engine))
    // Bob's device posted its claim before the purchase was bob's.
    #expect(belongings.erasedCount == 2)
    #expect(belongings.erased == [key])
    #expect(belongings.deliveries.map(\.deliveryID).contains("n1") == false)
  }
}
