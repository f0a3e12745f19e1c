import Answers
import Apple
import Base
import Crypto
import JSON
import Ledger
import Storage
import Subscriptions
import TestEngines
import Testing
import Tiers

/// The owner of a purchase: a claim is the weakest evidence, a transfer the strongest.
struct ClaimTests {
  private let ada = Random.identifier()
  private let bob = Random.identifier()
  private let original = "2000000\(Int64.random(in: 100_000_000...999_999_999))"

  private var key: ObjectKey {
    ObjectKey(provider: .apple, environment: .live, kind: .subscription, id: original)
  }

  private func claim(
    of account: Identifier? = nil, environment: String = "Production", at now: Instant = day(1)
  ) -> JSONValue {
    [
      "provider": "apple",
      "transaction": .string(
        AppleSample.transaction(
          original, day: 0, account: account, environment: environment, signed: now)),
    ]
  }

  @Test(arguments: TestEngine.available)
  func `a device's claim gives the purchase to its account, and again changes nothing`(
    engine: TestEngine
  ) throws {
    let shop = try Shop(engine)
    let device = try shop.device(of: ada)
    #expect(try shop.post(claim(), by: device) == (200, "owned"))
    #expect(try shop.cap(of: ada, at: day(2)) == 1000)
    #expect(try shop.post(claim(), by: device) == (200, "owned"))
    #expect(try shop.count("SELECT count(*) FROM billing.decisions") == 1)
  }

  @Test func `a claim on another account's purchase is refused and keeps nothing`() throws {
    let shop = try Shop()
    #expect(try shop.post(claim(), by: shop.device(of: ada)) == (200, "owned"))
    let deliveries = try shop.count("SELECT count(*) FROM billing.deliveries")
    #expect(
      try shop.post(claim(at: day(1) + .seconds(9)), by: shop.device(of: bob))
        == (409, "purchase_owned"))
    #expect(try shop.cap(of: bob, at: day(2)) == 10)
    #expect(try shop.count("SELECT count(*) FROM billing.deliveries") == deliveries)
  }

  /// Claims of so many other accounts, which are refused.
  private func refuse(_ count: Int, _ shop: Shop) throws {
    for _ in 0..<count {
      let device = try shop.device(of: Random.identifier())
      #expect(try shop.post(claim(at: shop.now), by: device) == (409, "purchase_owned"))
    }
  }

  @Test func `of the refused claims of a purchase the first ten are kept`() throws {
    let shop = try Shop()
    #expect(try shop.post(claim(), by: shop.device(of: ada)) == (200, "owned"))
    try refuse(11, shop)
    #expect(try shop.count("SELECT count(*) FROM billing.refused_claims") == 10)
  }

  @Test func `a refused claim is kept for thirty days, and then keeps no other out`() throws {
    let shop = try Shop()
    #expect(try shop.post(claim(), by: shop.device(of: ada)) == (200, "owned"))
    try refuse(10, shop)
    func kept(at moment: Instant) throws -> Int {
      try shop.database.read { try RefusedClaims.all(about: key, at: moment, reading: $0) }.count
    }
    let end = shop.now + .days(30)
    #expect(try kept(at: end - .milliseconds(1)) == 10)
    #expect(try kept(at: end) == 0)
    shop.now = end
    try refuse(1, shop)
    #expect(try kept(at: end) == 1)
  }

  @Test func `an account claims at most a hundred purchases, and keeps those that it has`() throws {
    let shop = try Shop()
    let device = try shop.device(of: ada)
    for number in 0..<99 {
      try shop.decide(
        .claim(
          ada,
          ObjectKey(
            provider: .apple, environment: .live, kind: .subscription, id: "10\(number)")))
    }
    for _ in 0..<2 { #expect(try shop.post(claim(), by: device) == (200, "owned")) }
    #expect(try shop.post(ClaimTests().claim(), by: device) == (429, "too_many_claims"))
  }

  @Test func `an account that is being deleted claims nothing`() throws {
    let shop = try Shop()
    let device = try shop.device(of: ada)
    try shop.leave(ada)
    #expect(try shop.post(claim(), by: device).1 == "account_leaving")
    #expect(try shop.owner(of: key) == nil)
  }

  @Test func `the provider's own token outweighs a claim`() throws {
    let shop = try Shop()
    #expect(try shop.post(claim(), by: shop.device(of: bob)) == (200, "owned"))
    let told = AppleSample.transaction(original, day: 0, account: ada, signed: day(3))
    #expect(try shop.notify("n1", told, at: day(3)) == 200)
    #expect(try shop.cap(of: ada, at: day(4)) == 1000)
    #expect(try shop.cap(of: bob, at: day(4)) == 10)
  }

  @Test func `an admin's transfer outweighs the token, and the next transfer that one`() throws {
    let shop = try Shop()
    #expect(try shop.post(claim(of: ada), by: shop.device(of: ada)) == (200, "owned"))
    try shop.decide(.transfer(bob, key, note: "sold the phone"))
    #expect(try shop.cap(of: bob, at: day(2)) == 1000)
    #expect(try shop.cap(of: ada, at: day(2)) == 10)
    try shop.decide(.transfer(ada, key, note: "bought it back"))
    #expect(try shop.cap(of: ada, at: day(2)) == 1000)
    #expect(try shop.cap(of: bob, at: day(2)) == 10)
  }

  @Test func `a deleted account's purchase is nobody's until somebody else claims it`() throws {
    let shop = try Shop()
    #expect(try shop.post(claim(of: ada), by: shop.device(of: ada)) == (200, "owned"))
    try shop.decide(.accountDeleted(ada))
    #expect(try shop.cap(of: ada, at: day(2)) == 10)
    #expect(try shop.owner(of: key) == nil)
    #expect(try shop.post(claim(of: ada), by: shop.device(of: bob)) == (200, "owned"))
    #expect(try shop.cap(of: bob, at: day(2)) == 1000)
  }

  @Test func `a sandbox purchase is owned and grants nothing but to a listed account`() throws {
    let shop = try Shop(sandbox: [bob])
    #expect(
      try shop.post(claim(environment: "Sandbox"), by: shop.device(of: ada)) == (200, "owned"))
    #expect(try shop.cap(of: ada, at: day(2)) == 10)
    let other = ClaimTests()
    #expect(
      try shop.post(other.claim(environment: "Sandbox"), by: shop.device(of: bob))
        == (200, "owned"))
    #expect(try shop.cap(of: bob, at: day(2)) == 1000)
  }

  @Test func `a key that no account has registered claims nothing`() throws {
    let shop = try Shop()
    let stranger = try shop.device(of: ada)
    try shop.forget(ada)
    #expect(try shop.post(claim(), by: stranger) == (401, "unknown_key"))
  }

  @Test(arguments: [
    #"{}"#, #"{"provider":null}"#, #"{"provider":"stripe","id":"sub_1"}"#, #"[]"#,
    #"{"provider":"apple"}"#, #"{"provider":"apple","transaction":null}"#,
    #"{"provider":"apple","transaction":7}"#, "null", "",
  ])
  func `a malformed claim is told what is wrong`(body: String) throws {
    let shop = try Shop()
    let device = try shop.device(of: ada)
    let answer = try shop.postText(body, by: device)
    #expect(answer.status == 400)
  }

  @Test func `a forged transaction is refused as a forged delivery is`() throws {
    let shop = try Shop()
    let text = AppleSample.transaction(original, day: 0, signed: day(1))
    let forged = String(text.dropLast(4)) + "AAAA"
    #expect(
      try shop.post(
        ["provider": "apple", "transaction": .string(forged)], by: shop.device(of: ada)
      ) == (400, "bad_signature"))
    #expect(try shop.count("SELECT count(*) FROM billing.deliveries") == 0)
  }

  @Test func `a grant lifts the cap, and taking it back lowers it from then on`() throws {
    let shop = try Shop()
    shop.now = day(1)
    try shop.decide(
      .grant(ada, planID: "premium", from: day(1), until: nil, note: "our tester"))
    #expect(try shop.cap(of: ada, at: day(400)) == 1000)
    let grants = try shop.database.read { try Grant.active(of: ada, reading: $0) }
    shop.now = day(5)
    try shop.decide(.ungrant(ada, grant: grants[0].id, note: "left"))
    #expect(try shop.cap(of: ada, at: day(4)) == 1000)
    #expect(try shop.cap(of: ada, at: day(6)) == 10)
  }

  @Test(arguments: TestEngine.available)
  func `a quota stands in place of what is granted until it ends, is replaced or cleared`(
    _ engine: TestEngine
  ) throws {
    let shop = try Shop(engine)
    shop.now = day(1)
    try shop.decide(.grant(ada, planID: "premium", from: day(1), until: nil, note: "tester"))
    shop.now = day(2)
    try shop.decide(.quota(ada, byteCount: 5, until: day(10), note: "abuse"))
    #expect(try [1, 3, 9, 10].map { try shop.cap(of: ada, at: day($0)) } == [1000, 5, 5, 1000])
    shop.now = day(4)
    try shop.decide(.quota(ada, byteCount: 7, until: nil, note: "a little more"))
    #expect(try [3, 4, 400].map { try shop.cap(of: ada, at: day($0)) } == [5, 7, 7])
    shop.now = day(6)
    try shop.decide(.quotaCleared(ada, note: "sorry"))
    #expect(try [5, 6, 400].map { try shop.cap(of: ada, at: day($0)) } == [7, 1000, 1000])
    let current = try shop.database.read {
      try QuotaOverride.current(of: ada, at: day(5), reading: $0)
    }
    #expect(current?.byteCount == 7)
  }

  @Test func `two live subscriptions are counted as double payment and never summed`() throws {
    let shop = try Shop()
    let first = AppleSample.transaction(original, day: 0, account: ada, signed: day(1))
    let other = AppleSample.transaction("9\(original)", day: 0, account: ada, signed: day(1))
    #expect(try shop.notify("n1", first, at: day(1)) == 200)
    #expect(try shop.count("SELECT count(*) FROM billing.double_payments") == 0)
    #expect(try shop.notify("n2", other, at: day(1)) == 200)
    #expect(try shop.count("SELECT count(*) FROM billing.double_payments") == 1)
    #expect(try shop.cap(of: ada, at: day(2)) == 1000)
  }

  @Test(arguments: TestEngine.available)
  func `add-ons that are subscriptions of their own add up, and are no double payment`(
    engine: TestEngine
  ) throws {
    let shop = try Shop(engine, catalogue: AppleSample.catalogueWithExtra)
    func buy(_ number: String, _ product: String) throws {
      let bought = AppleSample.transaction(
        number + original, day: 0, account: ada, product: product, signed: day(1))
      #expect(try shop.notify("n" + number, bought, at: day(1)) == 200)
    }
    try buy("7", AppleSample.extra)
    try buy("8", AppleSample.product)
    try buy("9", AppleSample.extra)
    #expect(try shop.cap(of: ada, at: day(2)) == 11_000)
    #expect(try shop.count("SELECT count(*) FROM billing.double_payments") == 0)
    // A second plan is one, of which the larger add-ons are no part.
    try buy("6", AppleSample.product)
    let paid = try #require(try shop.explanation(of: ada, at: day(2)).paidTwice)
    #expect(([paid.kept] + paid.surplus).map(\.planID) == ["premium", "premium"])
  }

  @Test func `of a double payment a purchase in the sandbox is never what to keep or to refund`()
    throws
  {
    let shop = try Shop()
    #expect(
      try shop.post(claim(environment: "Sandbox"), by: shop.device(of: ada)) == (200, "owned"))
    for number in ["7", "8"] {
      let live = AppleSample.transaction(
        number + original, day: 0, account: ada, signed: day(1))
      #expect(try shop.notify("n" + number, live, at: day(1)) == 200)
    }
    let paid = try #require(try shop.explanation(of: ada, at: day(2)).paidTwice)
    #expect(([paid.kept] + paid.surplus).map(\.key.environment) == [.live, .live])
  }
}
