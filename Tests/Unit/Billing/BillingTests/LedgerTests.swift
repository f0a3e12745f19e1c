import Answers
import Base
import Billing
import Crypto
import Ledger
import Storage
import Stripe
import StripeSamples
import TestEngines
import Testing
import Tiers

struct LedgerTests {
  @Test(arguments: TestEngine.available)
  func `a paid subscription lifts the cap of the account its session names`(engine: TestEngine)
    throws
  {
    let harness = try Harness(engine)
    let customer = try harness.subscriber()
    #expect(
      try harness.schedule(customer.account) == [
        "always free never_subscribed", "\(day(0)) premium subscribed",
        "\(day(30)) premium leeway", "\(day(30) + .hours(26)) free lapsed",
      ])
  }

  @Test(arguments: TestEngine.available)
  func `money without an owner merges at once and counts when the owner is known`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    try harness.post(customer.invoice(1, "paid", 0))
    try harness.post(customer.subscription("created", 0))
    #expect(try harness.schedule(customer.account) == ["always free never_subscribed"])
    #expect(try harness.digest(customer).contains { $0.contains("active") && $0.contains("none") })
    try harness.post(customer.session(0.1))
    #expect(try harness.schedule(customer.account)[1] == "\(day(0)) premium subscribed")
  }

  @Test(arguments: TestEngine.available)
  func `a payment link's client reference makes nobody an owner`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    try harness.post(
      customer.event(
        "session", "checkout.session.completed", 0,
        sampleSession(id: "cs_1", subscription: customer.subscriptionID, account: nil)))
    try harness.post(customer.invoice(1, "paid", 0))
    #expect(try harness.count("SELECT count(*) FROM billing.entitlements") == 0)
  }

  @Test(arguments: TestEngine.available)
  func `an owner that changes at the provider takes the schedule along`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    let heir = Random.identifier()
    try harness.post(customer.session())
    try harness.post(customer.invoice(1, "paid", 0))
    try harness.post(
      customer.subscription("updated", 1) { $0.account = heir.description })
    #expect(try harness.schedule(customer.account) == ["always free never_subscribed"])
    #expect(try harness.schedule(heir)[1] == "\(day(0)) premium subscribed")
  }

  @Test(arguments: TestEngine.available)
  func `two subscriptions of one account never add up`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let first = Customer(tag: harness.tag + "a")
    let second = Customer(tag: harness.tag + "b")
    try harness.post(first.session())
    try harness.post(first.invoice(1, "paid", 0))
    try harness.post(second.session(account: first.account))
    try harness.post(second.invoice(1, "paid", 10, from: 10, to: 40))
    #expect(
      try harness.explanation(first.account, at: day(15)).current.capByteCount == 1000)
    #expect(try harness.explanation(first.account, at: day(35)).current.planID == "premium")
    #expect(try harness.explanation(first.account, at: day(45)).current.planID == "free")
  }

  @Test(arguments: TestEngine.available)
  func `sandbox money grants nothing unless the deployment says so`(engine: TestEngine) throws {
    for environment in StoreEnvironment.allCases {
      let harness = try Harness(
        engine, rules: LedgerRules(catalogue: catalogue, grantingEnvironment: environment))
      let customer = Customer(tag: harness.tag)
      for var event in [customer.session(), customer.invoice(1, "paid", 0)] {
        event.isLive = false
        try harness.post(event)
      }
      let plan = try harness.explanation(customer.account, at: day(1)).current.planID
      #expect(plan == (environment == .sandbox ? "premium" : "free"))
    }
  }

  @Test(arguments: TestEngine.available)
  func `a connected account's event is kept and grants nothing`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    var event = customer.invoice(1, "paid", 0)
    event.connectedAccount = "acct_1"
    #expect(try harness.post(event).status == 200)
    #expect(try harness.count("SELECT count(*) FROM billing.deliveries") == 1)
    #expect(try harness.count("SELECT count(*) FROM billing.mirrors") == 0)
  }

  @Test(arguments: TestEngine.available)
  func `an event dated after its arrival is kept, not merged, and merges when it is due`(
    engine: TestEngine
  )
    throws
  {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    let event = customer.invoice(1, "paid", 0)
    #expect(try harness.post(event, at: day0 - .minutes(6)) == (200, "premature"))
    #expect(try harness.count("SELECT count(*) FROM billing.mirrors") == 0)
    #expect(
      try harness.count("SELECT count(*) FROM billing.read_requests WHERE reason = 'premature'")
        == 1)
    #expect(try harness.post(event, at: day0 - .minutes(4)).word == "duplicate")
    #expect(try harness.count("SELECT count(*) FROM billing.mirrors") == 1)
  }

  @Test(arguments: TestEngine.available)
  func `an ignored product grants nothing and an unknown one the fallback`(engine: TestEngine)
    throws
  {
    let kind = LedgerRules(catalogue: makeCatalogue(version: "kind", fallback: "premium"))
    for (price, rules, plan) in [
      ("price_shirt", kind, "free"), ("price_new", LedgerRules(catalogue: catalogue), "free"),
      ("price_new", kind, "premium"),
    ] {
      let harness = try Harness(engine, rules: rules)
      let customer = Customer(tag: harness.tag)
      try harness.post(customer.session())
      try harness.post(customer.invoice(1, "paid", 0) { $0.price = price })
      #expect(try harness.explanation(customer.account, at: day(1)).current.planID == plan)
    }
  }

  @Test(arguments: TestEngine.available)
  func `a new catalogue version derives what the old one made`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    try harness.post(customer.session())
    try harness.post(customer.invoice(1, "paid", 0) { $0.price = "price_new" })
    #expect(try harness.explanation(customer.account, at: day(1)).current.planID == "free")
    let rules = LedgerRules(catalogue: makeCatalogue(version: "kind", fallback: "premium"))
    #expect(try harness.service(rules: rules).applyRules() == 1)
    let explanation = try harness.explanation(customer.account, at: day(1))
    #expect(explanation.current.planID == "premium")
    #expect(explanation.derived?.catalogueVersion == "kind")
    #expect(try harness.service(rules: rules).applyRules() == 0)
  }

  @Test(arguments: TestEngine.available)
  func `the body is kept sealed with its signature, bound to its delivery`(engine: TestEngine)
    throws
  {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    let event = customer.session()
    try harness.post(event)
    let sealed = try harness.database.read { reader in
      try reader.first("SELECT sealed FROM billing.deliveries") { try $0.blob(0) }
    }
    let bytes = try #require(sealed)
    #expect(bytes.count < event.body.count * 2 / 3)
    #expect(!String(decoding: bytes, as: UTF8.self).contains("someone@example.com"))
    let message = try #require(try harness.kept(event.id).first).message
    #expect(message.suffix(event.body.count) == event.body[...])
    #expect(String(decoding: message, as: UTF8.self).hasPrefix("Stripe-Signature: t="))
    try harness.keep(bytes, as: "evt_other")
    #expect(throws: CryptoError.notAuthentic) { try harness.kept("evt_other") }
  }

  @Test(arguments: TestEngine.available)
  func `what was derived holds no personal data`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    try harness.post(Customer(tag: harness.tag).session())
    let contents = try harness.database.read { reader in
      try reader.rows("SELECT content FROM billing.mirrors LIMIT 10") { try $0.text(0) }
    }
    #expect(contents.count == 1)
    #expect(!contents.joined().contains("example.com"))
  }

  @Test(arguments: TestEngine.available)
  func `an invoice for something else is kept and mirrored nowhere`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    try harness.post(customer.invoice(1, "paid", 0) { $0.subscription = nil })
    #expect(
      try harness.count(
        "SELECT count(*) FROM billing.deliveries WHERE disposition = 'recorded'") == 1)
    #expect(try harness.count("SELECT count(*) FROM billing.mirrors") == 0)
  }

  @Test(arguments: TestEngine.available)
  func `an outdated value leaves its mirror, its delivery stays`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    try harness.post(customer.subscription("updated", 1))
    try harness.post(customer.subscription("updated", 2))
    try harness.post(customer.subscription("updated", 1.5))
    #expect(try harness.count("SELECT count(*) FROM billing.mirrors") == 1)
    #expect(try harness.count("SELECT count(*) FROM billing.deliveries") == 3)
  }

  @Test(arguments: TestEngine.available)
  func `a delivery about a subscription whose row was lost is taken`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = try harness.payer()
    try harness.database.write(for: nil) { transaction in
      try transaction.execute("DELETE FROM billing.subscriptions")
    }
    try harness.post(customer.invoice(2, "paid", 30, from: 30, to: 60))
    let current = try harness.explanation(customer.account, at: day(45)).current
    #expect(current.reason == .subscribed)
  }
}

extension Harness {
  fileprivate func kept(_ id: String) throws -> [KeptDelivery] {
    try database.read {
      try KeptDelivery.find(id, of: StripeStore(), sealing: Self.sealing, reading: $0)
    }
  }

  /// Puts the sealed content of one delivery into the row of another.
  fileprivate func keep(_ sealed: [UInt8], as id: String) throws {
    try database.write(for: nil) { transaction in
      try transaction.execute(
        "UPDATE billing.deliveries SET sealed = $1, delivery_id = $2", .blob(sealed), .text(id))
    }
  }
}
