import Answers
import Base
import HTTPMessages
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

/// What is known about a stored delivery: its accounts and its origin.
struct RecordedDeliveryTests {
  private let harness: Harness
  private let customer: Customer
  private let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))

  init() throws {
    harness = try Harness(.sqlite)
    customer = Customer(tag: harness.tag)
    try harness.post(customer.session())
    try harness.post(customer.subscription("created", 0))
    try harness.post(customer.invoice(1, "paid", 0))
  }

  @Test func `a delivery that changed nothing names who owns what it speaks of`() throws {
    for event in [
      customer.session(), customer.subscription("created", 0), customer.invoice(1, "paid", 0),
    ] {
      let again = try record([try prepared(event)])[0]
      #expect(again.isRedelivery && again.accounts == [customer.account], "\(event.type)")
    }
  }

  @Test func `deliveries that only point at purchases name their owners, by one statement for all`()
    throws
  {
    let ofNobody = try statementCount { _ = try record([pointer("1", at: "sub_of_nobody")]) }
    let pointers = (2...9).map { pointer("\($0)", at: customer.subscriptionID) }
    let ofOne = try statementCount {
      _ = try record([pointer("10", at: customer.subscriptionID)])
    }
    let ofAll = try statementCount {
      let recorded = try record(pointers)
      #expect(recorded.allSatisfy { $0.accounts == [customer.account] })
    }
    // That statement and the number, which is taken once for all.
    #expect(ofOne == ofNobody)
    #expect(ofAll <= ofOne * 8 - 2 * 7)
  }

  @Test func `a delivery that changed something asks nobody whose it is`() throws {
    let event = customer.invoice(2, "paid", 30, from: 30, to: 60)
    let first = try statementCount {
      let recorded = try record([try prepared(event)])
      #expect(recorded[0].accounts == [customer.account])
    }
    let withPointer = try statementCount {
      let other = customer.invoice(3, "paid", 60, from: 60, to: 90)
      _ = try record([try prepared(other), pointer("1", at: customer.subscriptionID)])
    }
    let alone = try statementCount {
      _ = try record([pointer("2", at: customer.subscriptionID)])
    }
    // Together they take one number.
    #expect(withPointer == first + alone - 1)
  }

  @Test func `what is about nobody's purchase names nobody`() throws {
    #expect(try record([pointer("1", at: "sub_of_nobody")])[0].accounts.isEmpty)
  }

  @Test func `what a list showed came by the list, also after its webhook came`() throws {
    let event = customer.invoice(2, "paid", 30, from: 30, to: 60)
    _ = try record([try prepared(event, proof: StoreListing.proof(by: "Stripe"))])
    #expect(try summary(event).origin == .list)
    try harness.post(event)
    #expect(try summary(event).origin == .list)
    #expect(try summary(event).redeliveryCount == 1)
  }

  @Test func `what a webhook brought came by it, also where a list shows it later`() throws {
    let event = customer.invoice(1, "paid", 0)
    _ = try record([try prepared(event, proof: StoreListing.proof(by: "Stripe"))])
    #expect(try summary(event).origin == .webhook)
  }

  @Test func `what cannot be read keeps its type, and why beside it`() throws {
    var event = customer.invoice(2, "paid", 30, from: 30, to: 60)
    event.object = ["object": "invoice", "id": "in_unread"]
    #expect(try harness.post(event).word == "undecodable")
    let unread = try summary(event)
    #expect(unread.type == "invoice.paid")
    #expect(unread.error?.hasPrefix("$.data.object") == true, "\(unread.error ?? "-")")
    let attention = try harness.database.read { reader in
      try AttentionList(at: day(31), limit: 10, stores: .known, reading: reader)
    }.items.filter { $0.kind == .undecodableDelivery }
    #expect(attention.map(\.detail) == [unread.error])
    #expect(try reads(harness.database) == ["stripe:live:invoice:in_unread"])
  }

  @Test func `what cannot be read of another's account asks for no read`() throws {
    let object: JSONValue = ["object": "invoice", "id": "in_theirs"]
    var event = customer.invoice(2, "paid", 30, from: 30, to: 60)
    event.object = object
    event.connectedAccount = "acct_theirs"
    #expect(try harness.post(event).word == "undecodable")
    #expect(try reads(harness.database) == [])
  }

  /// The objects that are read because a delivery that names them could not be decoded.
  private func reads(_ database: Database) throws -> [String] {
    try database.read { reader in
      try reader.rows(
        "SELECT object FROM billing.read_requests WHERE reason = 'undecodable' ORDER BY object"
      ) { row in try row.text(0) }
    }
  }

  @Test func `what Google pushes without a token keeps its type`() throws {
    let shop = try PlayShop()
    #expect(try shop.push("", 4) == 200)
    let unread = """
      SELECT count(*) FROM billing.deliveries
      WHERE type = 'SUBSCRIPTION_PURCHASED' AND disposition = 'undecodable' AND error IS NOT NULL
      """
    #expect(try shop.count(unread) == 1)
  }

  @Test func `a push that cannot be read has the purchase read that it names`() throws {
    let shop = try PlayShop()
    #expect(try shop.push("token-1", 4, eventTime: "noon") == 200)
    #expect(try reads(shop.database).count == 1)
  }

  @Test func `what the App Store sends without an id keeps its type`() throws {
    let shop = try Shop()
    let transaction = AppleSample.transaction("2000", day: 0, signed: day0)
    #expect(try shop.notify("two words", transaction, at: day(1)) == 200)
    #expect(try reads(shop.database) == ["apple:live:subscription:2000"])
    let unread = """
      SELECT count(*) FROM billing.deliveries
      WHERE type LIKE 'SUBSCRIBED%' AND disposition = 'undecodable' AND error IS NOT NULL
      """
    #expect(try shop.count(unread) == 1)
  }

  private func summary(_ event: SampleEvent) throws -> DeliverySummary {
    try #require(
      try harness.database.read { reader in
        try DeliverySummary.find(event.id, of: Array(StoreList.known), reading: reader)
      }.first)
  }

  private func record(_ deliveries: [PreparedDelivery]) throws -> [Recorded] {
    let ledger = ledger
    return try harness.database.write(for: nil) { try ledger.record(deliveries, in: $0) }
  }

  private func statementCount(_ body: () throws -> Void) rethrows -> Int64 {
    let before = harness.database.writeWork.statementCount
    try body()
    return harness.database.writeWork.statementCount - before
  }

  /// A delivery as its webhook would pass it on, except for `proof`.
  private func prepared(_ event: SampleEvent, proof: String = "a secret") throws -> PreparedDelivery
  {
    let store = StripeStore(secrets: WebhookSecrets([Harness.secret]))
    let webhook = try #require(store.webhook)
    let signature = signatureHeader(body: event.body, secret: Harness.secret, at: event.created)
    let head = RequestHead(
      method: "POST", target: "/webhooks/stripe",
      headers: Headers([("Stripe-Signature", signature)]), authority: "billing")
    let delivery = try webhook.admit(head, event.created).wait()(event.body, event.created)
    return PreparedDelivery(
      Delivery(delivery.content, head: delivery.head, proof: proof), of: store,
      received: event.created, body: event.body, sealing: Harness.sealing)
  }

  private func pointer(_ id: String, at subscription: String) -> PreparedDelivery {
    let key = ObjectKey(
      provider: .stripe, environment: .live, kind: .subscription, id: subscription)
    return PreparedDelivery(
      DecodedDelivery(
        provider: .stripe, environment: .live, deliveryID: "evt_pointer_\(id)", type: "thin",
        requests: [ReadRequest(key, reason: "notification")], disposition: .recorded,
        meaning: ["id": .string(id)]),
      of: StripeStore(), received: day0, head: [], body: [], sealing: Harness.sealing)
  }
}
