import Base
import JSON
import KnownStores
import Ledger
import Storage
import Stores
import Stripe
import StripeSamples
import Subscriptions
import TestEngines
import Testing
import Tiers

/// What is kept of deliveries and answers that are incomplete or repeated.
struct StripeReadRequestTests {
  private static func thin(
    _ id: String, _ type: String, _ related: JSONValue, context: JSONValue = nil,
    isLive: Bool = true
  ) -> [UInt8] {
    let body: JSONValue = [
      "id": .string(id), "object": "v2.core.event", "type": .string(type),
      "livemode": .bool(isLive),
      "created": "2026-01-01T00:00:00.123Z", "context": context, "related_object": related,
    ]
    return body.encoded()
  }

  private func post(_ body: [UInt8], to harness: Harness) throws -> String {
    let signature = signatureHeader(body: body, secret: Harness.secret, at: day0)
    harness.set(day0)
    let answer = try harness.post(body, signatures: [signature])
    #expect(answer.status == 200)
    return answer.word
  }

  @Test(arguments: TestEngine.available)
  func `a thin event is kept, and asks for a read of the object it names`(engine: TestEngine) throws
  {
    let harness = try Harness(engine)
    let tag = harness.tag
    let body = Self.thin(
      "evt_\(tag)", "v1.customer.subscription.past_due",
      ["id": .string("sub_\(tag)"), "type": "subscription", "url": "/v1/subscriptions/sub_1"])
    #expect(try post(body, to: harness) == "recorded")
    #expect(try post(body, to: harness) == "duplicate")
    #expect(
      try harness.count(
        "SELECT count(*) FROM billing.read_requests WHERE object = 'stripe:live:subscription:sub_\(tag)'"
      )
        == 1)
  }

  /// Endpoints of versions before 2026 report `paused` without the reason.
  @Test(arguments: TestEngine.available)
  func `a pause that a delivery does not explain has its subscription read, once`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let customer = try harness.payer()
    let paused = customer.subscription("updated", 3) { $0.status = "paused" }
    for _ in 0..<2 { try harness.post(paused) }
    try harness.post(customer.subscription("paused", 3.1) { $0.status = "paused" })
    let reads = try harness.database.read { reader in
      try reader.rows(
        "SELECT object FROM billing.read_requests WHERE reason = 'unknown_status'"
      ) { row in try row.text(0) }
    }
    #expect(reads == ["stripe:live:subscription:\(customer.subscriptionID)"])
  }

  @Test(arguments: TestEngine.available)
  func `a thin event of nothing that we mirror, or of another account, is kept only`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let tag = harness.tag
    let price: JSONValue = ["id": .string("price_\(tag)"), "type": "price", "url": "/v1/prices/x"]
    let other: JSONValue = ["id": .string("sub_\(tag)"), "type": "subscription", "url": "/v1/x"]
    #expect(
      try post(Self.thin("evt_a\(tag)", "v1.price.updated", price), to: harness) == "recorded")
    #expect(
      try post(Self.thin("evt_b\(tag)", "v1.invoice.upcoming", nil), to: harness) == "recorded")
    let foreign = Self.thin(
      "evt_c\(tag)", "v1.customer.subscription.updated", other, context: "acct_9")
    #expect(try post(foreign, to: harness) == "foreign")
    #expect(
      try harness.count(
        """
        SELECT count(*) FROM billing.read_requests WHERE object IN
          ('stripe:live:subscription:sub_\(tag)', 'stripe:live:invoice:price_\(tag)')
        """) == 0)
  }

  /// No key can read the other environment, so a job would be retried for ever.
  @Test(arguments: TestEngine.available)
  func `a thin event of the other environment asks for nothing`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let tag = harness.tag
    let ledger = Ledger(
      stores: .known, rules: LedgerRules(catalogue: catalogue), readable: [.stripe])
    let secrets = WebhookSecrets([Harness.secret])
    for isLive in [true, false] {
      let body = Self.thin(
        "evt_\(isLive)\(tag)", "v1.customer.subscription.updated",
        ["id": .string("sub_\(tag)"), "type": "subscription"], isLive: isLive)
      let signature = Array(signatureHeader(body: body, secret: Harness.secret, at: day0).utf8)
      let event = try StripeThinEvent(
        try #require(secrets).verify(headers: [signature], body: body, now: day0))
      let delivery = PreparedDelivery(
        DecodedDelivery(event), of: StripeStore(), received: day0, head: [], body: body,
        sealing: Harness.sealing)
      try harness.database.write(for: nil) { _ = try ledger.record(delivery, in: $0) }
    }
    let jobs = try harness.database.read { reader in
      try reader.rows(
        "SELECT object FROM billing.jobs WHERE object LIKE $1", .text("%:sub_\(tag)")
      ) { row in try row.text(0) }
    }
    #expect(jobs == ["stripe:live:subscription:sub_\(tag)"])
  }

  @Test(arguments: TestEngine.available)
  func `an answer that shows an object twice is kept as it showed it last`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let id = "in_\(harness.tag)"
    let statuses: [StripeInvoice.Status] = [.open, .paid, .paid]
    let facts = statuses.enumerated().map { index, status in
      let from = day0 + .seconds(Int64(index) * 3)
      return Fact(
        key: ObjectKey(provider: .stripe, environment: .live, kind: .invoice, id: id),
        object: StripeObject.invoice(
          StripeInvoice(
            subscription: "sub_\(harness.tag)", status: status, isCycle: false,
            isAttempted: true, created: day0, amountPaid: Int64(index), lines: [])),
        asOf: AsOf(from: from, to: from + .seconds(7)))
    }
    let delivery = PreparedDelivery(
      DecodedDelivery(
        provider: .stripe, environment: .live, deliveryID: "read:\(id):1", type: "read",
        facts: facts, disposition: .joined, isAnswer: true, meaning: ["read": 1]),
      of: StripeStore(), received: day0 + .minutes(1), head: [], body: [], sealing: Harness.sealing)
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))
    try harness.database.write(for: nil) { transaction in
      _ = try ledger.record(delivery, in: transaction)
    }
    let contents = try harness.database.read { reader in
      try reader.rows(
        "SELECT content FROM billing.mirrors WHERE object = $1",
        .text("stripe:live:invoice:\(id)")
      ) { row in try row.text(0) }
    }
    #expect(contents.count == 1)
    #expect(contents.first?.contains("\"amountPaid\":2") == true)
  }
}
