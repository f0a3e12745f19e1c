import Apple
import Base
import Configuration
import Crypto
import JSON
import Subscriptions
import TestEngines
import Testing
import Tiers

/// The account that gets a purchase that another account owns, by the operator's policy.
struct RestoreTests {
  private let lost = Random.identifier()
  private let new = Random.identifier()
  private let original = "2000000\(Int64.random(in: 100_000_000...999_999_999))"

  private var key: ObjectKey {
    ObjectKey(provider: .apple, environment: .live, kind: .subscription, id: original)
  }

  /// A claim with a transaction that was signed on that day.
  private func claim(signed: Double = 1) -> JSONValue {
    [
      "provider": "apple",
      "transaction": .string(AppleSample.transaction(original, day: 0, signed: day(signed))),
    ]
  }

  /// A shop with a purchase owned by the account that lost its key.
  private func shop(_ policy: RestorePolicy, _ engine: TestEngine = .sqlite) throws -> Shop {
    let shop = try Shop(engine, restoring: policy)
    #expect(try shop.post(claim(), by: shop.device(of: lost)) == (200, "owned"))
    shop.now = day(4)
    return shop
  }

  @Test func `by default nobody gets what another account owns`() throws {
    let shop = try shop(.refuse)
    #expect(try shop.post(claim(signed: 3), by: shop.device(of: new)) == (409, "purchase_owned"))
    #expect(try shop.owner(of: key) == lost)
  }

  @Test(arguments: TestEngine.available)
  func `a purchase moves at once where that is the policy, and the audit log says so`(
    engine: TestEngine
  ) throws {
    let shop = try shop(.transfer, engine)
    #expect(try shop.post(claim(signed: 3), by: shop.device(of: new)) == (200, "owned"))
    #expect(try shop.owner(of: key) == new)
    #expect(try shop.cap(of: lost, at: day(5)) == 10)
    #expect(
      try shop.count(
        "SELECT count(*) FROM billing.audit WHERE act = 'subscription restore'") == 1)
  }

  @Test func `an owner who was there lately keeps it, one who was not for long loses it`() throws {
    let shop = try shop(.afterInactivity(.days(20)))
    try shop.show(lost, at: day(5))
    shop.now = day(24)
    let device = try shop.device(of: new)
    #expect(try shop.post(claim(signed: 24), by: device) == (409, "purchase_owned"))
    shop.now = day(25)
    #expect(try shop.post(claim(signed: 25), by: device) == (200, "owned"))
    #expect(try shop.owner(of: key) == new)
  }

  @Test func `two people cannot have one purchase in turns`() throws {
    let shop = try shop(.transfer)
    let devices = (try shop.device(of: lost), try shop.device(of: new))
    var answers: [String] = []
    for turn in 0..<4 {
      let device = turn % 2 == 0 ? devices.1 : devices.0
      answers.append(try shop.post(claim(signed: 3 + Double(turn) / 10), by: device).1)
    }
    #expect(answers == ["owned", "owned", "owned", "purchase_owned"])
    #expect(try shop.owner(of: key) == new)
  }

  @Test func `a purchase that has moved three times moves again thirty days later`() throws {
    let shop = try shop(.transfer)
    let devices = (try shop.device(of: lost), try shop.device(of: new))
    for turn in 0..<3 {
      let device = turn % 2 == 0 ? devices.1 : devices.0
      #expect(try shop.post(claim(signed: 3 + Double(turn) / 10), by: device) == (200, "owned"))
    }
    shop.now = day(34) - .milliseconds(1)
    #expect(try shop.post(claim(signed: 33), by: devices.0) == (409, "purchase_owned"))
    shop.now = day(34)
    #expect(try shop.post(claim(signed: 33), by: devices.0) == (200, "owned"))
  }
}
