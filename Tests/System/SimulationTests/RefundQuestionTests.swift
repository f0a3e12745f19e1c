import Apple
import Base
import BillingSimulation
import Configuration
import JSON
import KnownStores
import Ledger
import ProviderFakes
import Storage
import Stores
import Subscriptions
import TestEngines
import Testing
import Tiers

/// The stores' questions before a refund, and the answers to them.
struct RefundQuestionTests {
  private static let account = PlayShop.account
  /// Premium is 30 GB, and 1 MB is free.
  private static let halfUsed: Int64 = 15_000_500_000

  /// An App Store that has sold a month, and an installation that knows it.
  private final class AppShop {
    let store: FakeAppStore
    let installation: Installation
    let id: String
    private let clock: FakeClock

    init(_ answers: RefundAnswers, engine: TestEngine = .sqlite, for buyer: Identifier? = account)
      throws
    {
      let clock = FakeClock(Instant(milliseconds: 1_772_532_120_512))
      let store = AppleTales.store(clock)
      var policies = Installation.Policies()
      policies.refundAnswers = answers
      installation = try Installation(engine, with: policies) { clock in
        StoreList.known(with: AppleTales.asStore(store, clock))
      }
      (self.clock, self.store) = (clock, store)
      id = store.buy(.premiumMonthly, for: buyer)
      try pass(.minutes(10))
    }

    func pass(_ span: Instant.Span) throws {
      let end = clock.now + span
      while clock.now < end {
        clock.set(min(clock.now + .minutes(10), end))
        installation.now = clock.now
        for delivery in store.dueDeliveries {
          let status = try installation.deliver(store.request(for: delivery, at: clock.now))
          store.answered(delivery, status: status)
        }
        try installation.runDue()
      }
    }

    func agree(_ given: Bool = true) throws {
      let answer = try installation.put(
        "/v1/refund-consent", ["given": .bool(given)], by: account)
      #expect(answer.status == 200)
      #expect(answer.json["given"].bool == given)
    }

    func ask() throws {
      store.askOfRefund(id)
      try pass(.minutes(30))
    }

    func answer() throws -> String? {
      let payment = ObjectKey(
        provider: .apple, environment: .live, kind: .transaction,
        id: store.latestTransaction(of: id))
      return try installation.database.read { try RefundQuestionRow.find(payment, reading: $0) }?
        .answer
    }
  }

  private static func use(_ byteCount: Int64, in installation: Installation) throws {
    let scratch = installation.location
    let database = try Database.open(scratch, owning: .sync)
    defer { database.close() }
    try database.write(for: nil) { transaction in
      try transaction.execute(
        "UPDATE sync.accounts SET usage_bytes = $2 WHERE id = $1", .id(account),
        .integer(byteCount))
    }
  }

  @Test(arguments: TestEngine.available)
  func `Apple is told how much is used, of a customer who agreed, and nothing else`(
    engine: TestEngine
  ) throws {
    let shop = try AppShop(.usage, engine: engine)
    try shop.agree()
    try Self.use(Self.halfUsed, in: shop.installation)
    try shop.ask()
    let told = try #require(shop.store.consumptions.first)
    #expect(shop.store.consumptions.count == 1)
    #expect(told.transaction == shop.store.latestTransaction(of: shop.id))
    #expect(
      JSONValue(told.json) == [
        "customerConsented": true, "deliveryStatus": "DELIVERED", "sampleContentProvided": true,
        "consumptionPercentage": 50_000,
      ])
    let read = try shop.installation.put("/v1/refund-consent", ["given": true], by: Self.account)
    #expect(read.json["told"].array?.count == 1)
    #expect(try shop.answer() == "50 % in use, preference usage")
  }

  @Test(arguments: [
    (RefundAnswers.decline, "DECLINE", true), (.grant, "GRANT_FULL", true),
    (.prorate, "GRANT_PRORATED", false),
  ])
  func `the operator's preference goes with it`(
    answers: RefundAnswers, word: String, tellsUsage: Bool
  ) throws {
    let shop = try AppShop(answers)
    try shop.agree()
    try shop.ask()
    let told = try #require(shop.store.consumptions.first?.json)
    #expect(told["refundPreference"].string == word)
    #expect(told["consumptionPercentage"].exists == tellsUsage)
  }

  @Test func `of whoever did not agree, or agrees no more, nothing is told`() throws {
    let shop = try AppShop(.usage)
    try shop.ask()
    #expect(try shop.answer() == "nothing: the customer did not agree")
    try shop.agree()
    try shop.agree(false)
    try shop.ask()
    #expect(shop.store.consumptions.isEmpty)
  }

  @Test func `switched off, nothing is told of anybody`() throws {
    let shop = try AppShop(.off)
    try shop.agree()
    try shop.ask()
    #expect(shop.store.consumptions.isEmpty)
    #expect(try shop.answer() == "nothing: COFFER_REFUND_ANSWERS is off")
  }

  @Test func `asked again, it is answered again`() throws {
    let shop = try AppShop(.usage)
    try shop.agree()
    try shop.ask()
    try shop.ask()
    #expect(shop.store.consumptions.count == 2)
  }

  @Test func `a store that fails is told later, and not at all after twelve hours`() throws {
    let shop = try AppShop(.usage)
    try shop.agree()
    shop.store.faults.fail(next: Array(repeating: .status(500, retryAfter: nil), count: 6))
    try shop.ask()
    try shop.pass(.hours(3))
    #expect(shop.store.consumptions.count == 1)
    shop.store.faults.fail(next: Array(repeating: .timeout, count: 500))
    try shop.ask()
    try shop.pass(.hours(13))
    #expect(shop.store.consumptions.count == 1)
    #expect(try shop.answer() == "nothing: too late")
  }

  @Test func `of a purchase without an owner nothing is told`() throws {
    let shop = try AppShop(.usage, for: nil)
    try shop.agree()
    try shop.ask()
    #expect(shop.store.consumptions.isEmpty)
    #expect(try shop.answer() == nil)
    try shop.pass(.hours(13))
    #expect(try shop.answer() == "nothing: too late")
  }

  @Test(arguments: [
    (RefundAnswers.usage, "NEUTRAL"), (.decline, "DECLINE"), (.grant, "APPROVE"),
    (.prorate, "NEUTRAL"),
  ])
  func `Google is told of the order that it asks about, with its token`(
    answers: RefundAnswers, word: String
  ) throws {
    let shop = try PlayShop(refundAnswers: answers)
    let token = shop.store.buy(.premiumMonthly, for: Self.account)
    try shop.pass(.hours(2))
    let agreed = try shop.installation.put(
      "/v1/refund-consent", ["given": true], by: Self.account)
    #expect(agreed.status == 200)
    try Self.use(Self.halfUsed, in: shop.installation)
    let order = shop.store.orders(of: token)[0]
    shop.store.askForRefundReview(order)
    try shop.pass(.hours(1))
    let told = try #require(shop.store.refundReviews.first)
    #expect(told.order == order)
    let pending = told.json["pendingRefundToken"].string ?? ""
    #expect(!pending.isEmpty)
    #expect(
      JSONValue(told.json) == [
        "pendingRefundToken": .string(pending), "refundPreference": .string(word),
        "sampleContentProvided": true, "consumptionPercentageMilliunits": 50_000,
      ])
  }

  @Test(arguments: ["{}", #"{"given":"yes"}"#, "[]", "nonsense", #"{"given":null}"#])
  func `a consent that cannot be read changes nothing`(body: String) throws {
    let shop = try AppShop(.usage)
    try shop.agree()
    let answer = try shop.installation.put(
      "/v1/refund-consent", bytes: Array(body.utf8), by: Self.account)
    #expect(answer.status == 400)
    try shop.ask()
    #expect(shop.store.consumptions.count == 1)
  }
}
