import Base
import JSON
import Stores
import Stripe
import StripeSamples
import Subscriptions
import Testing
import Tiers

struct EventTests {
  private static let day0 = Instant(seconds: 1_767_225_600)
  private static let day30 = day0 + .days(30)
  private static let account = "0b50dfbe-8c5b-4a7c-9f36-1f2d3b6f0a01"

  private func decode(_ body: [UInt8]) throws -> StripeEvent {
    let secret = Secret("whsec_test")
    let header = signatureHeader(body: body, secret: secret, at: Self.day0)
    let delivery = try #require(WebhookSecrets([secret]))
      .verify(headers: [Array(header.utf8)], body: body, now: Self.day0)
    return try StripeEvent(delivery)
  }

  private func decode(
    _ type: String, _ object: JSONValue, _ shape: Shape = .basil
  ) throws -> StripeEvent {
    try decode(
      SampleEvent(id: "evt_1", type: type, created: Self.day0, object: object, shape: shape).body)
  }

  private func undecodable(_ body: [UInt8]) -> (id: String?, code: JSONError.Code)? {
    do {
      _ = try decode(body)
    } catch let error as UndecodableDelivery {
      return (error.id, error.error.code)
    } catch {
      Issue.record("another error: \(error)")
    }
    return nil
  }

  @Test(arguments: Shape.allCases)
  func `a subscription reads the same in every shape`(shape: Shape) throws {
    var sample = SampleSubscription(from: Self.day0, to: Self.day30)
    sample.account = Self.account
    sample.trial = Self.day0..<Self.day30
    sample.cancelAt = Self.day30
    sample.cancellationReason = "payment_failed"
    let event = try decode("customer.subscription.updated", sample.json(shape), shape)
    let fact = try #require(event.facts.first)
    #expect(fact.key.description == "stripe:live:subscription:sub_1")
    #expect(fact.asOf == .second(Self.day0))
    #expect(
      event.object
        == .subscription(
          StripeSubscription(
            customer: "cus_1", status: .active,
            items: [
              StripeSubscription.Item(
                id: "si_1", price: "price_premium", product: "prod_premium")
            ],
            cancelAt: Self.day30, endedByFailedPayment: true, trialStart: Self.day0,
            trialEnd: Self.day30, latestInvoice: "in_1", account: Identifier(Self.account))))
  }

  @Test(arguments: Shape.allCases)
  func `an invoice reads the same in every shape`(shape: Shape) throws {
    let sample = SampleInvoice(from: Self.day0, to: Self.day30)
    let event = try decode("invoice.paid", sample.json(shape), shape)
    #expect(event.facts.first?.key.description == "stripe:live:invoice:in_1")
    #expect(
      event.object
        == .invoice(
          StripeInvoice(
            subscription: "sub_1", status: .paid, isCycle: false, isAttempted: true,
            created: Self.day0, paidAt: Self.day0, amountPaid: 299, currency: "usd",
            lines: [
              StripeInvoice.Line(
                item: "si_1", price: "price_premium", product: "prod_premium",
                amountMinorUnits: 299,
                from: Self.day0, to: Self.day30)
            ])))
  }

  @Test func `expanded objects read as their ids`() throws {
    let sample = SampleSubscription(from: Self.day0, to: Self.day30)
    let object = sample.json(.basil).adding([
      "customer": ["id": "cus_9", "object": "customer", "email": "someone@example.com"]
    ])
    let event = try decode("customer.subscription.created", object)
    guard case .subscription(let content) = event.object else {
      Issue.record("no subscription")
      return
    }
    #expect(content.customer == "cus_9")
  }

  @Test func `an invoice for something else is recorded only`() throws {
    var sample = SampleInvoice(from: Self.day0, to: Self.day30)
    sample.subscription = nil
    #expect(try decode("invoice.paid", sample.json(.basil)).facts.isEmpty)
  }

  @Test func `a preview invoice without an id is recorded only`() throws {
    let preview: JSONValue = ["object": "invoice", "status": "draft", "lines": ["data": []]]
    #expect(try decode("invoice.upcoming", preview).facts.isEmpty)
  }

  @Test func `a line list cut short is noticed`() throws {
    var sample = SampleInvoice(from: Self.day0, to: Self.day30)
    sample.hasMoreLines = true
    #expect(try decode("invoice.paid", sample.json(.basil)).notes == [.listCutShort])
  }

  @Test func `a session's metadata names the account, its client reference proves nothing`() throws
  {
    let ours = try decode("checkout.session.completed", sampleSession(account: Self.account))
    #expect(
      ours.object
        == .checkoutSession(
          StripeCheckoutSession(
            subscription: "sub_1", isOpen: false, account: Identifier(Self.account))))
    let linked = try decode("checkout.session.completed", sampleSession(account: nil))
    guard case .checkoutSession(let session)? = linked.object else {
      Issue.record("no session")
      return
    }
    #expect(session.account == nil)
  }

  @Test func `metadata that is no account id is ignored and noticed`() throws {
    let event = try decode("checkout.session.completed", sampleSession(account: "alice"))
    #expect(event.notes == [.malformedAccount])
    guard case .checkoutSession(let session)? = event.object else {
      Issue.record("no session")
      return
    }
    #expect(session.account == nil)
  }

  @Test func `a deleted customer is dated by its event, a changed one is recorded only`() throws {
    let customer: JSONValue = ["id": "cus_1", "object": "customer"]
    #expect(
      try decode("customer.deleted", customer).object
        == .customer(StripeCustomer()))
    #expect(try decode("customer.updated", customer).facts.isEmpty)
  }

  @Test(arguments: [
    "charge.refunded", "payment_intent.succeeded", "something.new", "plan.created",
  ])
  func `every other kind is read without facts`(type: String) throws {
    let event = try decode(type, ["id": "x_1", "object": "whatever", "nested": ["a": [1, 2]]])
    #expect(event.facts.isEmpty)
    #expect(event.objectID == "x_1")
  }

  @Test func `an event without a version and with a connected account reads`() throws {
    let event = try decode(
      Array(
        """
        {"id":"evt_2","object":"event","api_version":null,"created":1,"type":"plan.created",
        "livemode":false,"account":"acct_1","data":{"object":{"object":"plan"}},"novel":{}}
        """.utf8))
    #expect(event.apiVersion == nil)
    #expect(event.environment == .sandbox)
    #expect(event.connectedAccount == "acct_1")
  }

  @Test func `a thin event is no snapshot`() {
    #expect(throws: UndecodableDelivery.self) {
      try decode(Array(#"{"id":"evt_1","object":"v2.core.event","type":"v1.x"}"#.utf8))
    }
  }

  @Test(
    arguments: [
      (#"{"id":"evt_1","id":"evt_2"}"#, .duplicateName),
      (#"{"id":18446744073709551616}"#, .missing),
      ("{\"id\":\"\u{1}\"}", .syntax),
      ("", .syntax), ("{}x", .syntax), ("null", .missing), ("[]", .missing),
      (#"{"id":"a\u0000b"}"#, .missing),
    ] as [(String, JSONError.Code)])
  func `bad JSON is undecodable and says how`(text: String, code: JSONError.Code) {
    #expect(undecodable(Array(text.utf8))?.code == code)
  }

  @Test func `a value that is not needed takes nothing from an event`() throws {
    let object = SampleSubscription(from: Self.day0, to: Self.day30).json(.basil)
      .adding(["description": "Zo\u{0}"])
    let body = SampleEvent(
      id: "evt_7", type: "customer.subscription.updated", created: Self.day0, object: object
    ).body
    let odd = String(decoding: body, as: UTF8.self).dropLast() + #","odd":18446744073709551615}"#
    #expect(odd.contains(#"Zo\u0000"#))
    #expect(try decode(Array(odd.utf8)).object != nil)
  }

  @Test func `ten thousand levels and invalid UTF-8 are undecodable`() {
    let deep = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
    #expect(undecodable(Array(deep.utf8))?.code == .tooDeep)
    #expect(
      undecodable(Array(#"{"id":""#.utf8) + [0xFF] + Array(#""}"#.utf8))?.code == .invalidUTF8)
  }

  @Test func `an event whose object lacks what it must have keeps its id`() {
    let object: JSONValue = ["id": "sub_1", "object": "subscription", "items": ["data": []]]
    let body = SampleEvent(
      id: "evt_7", type: "customer.subscription.updated", created: Self.day0, object: object
    ).body
    let found = undecodable(body)
    #expect(found?.id == "evt_7")
    #expect(found?.code == .missing)
  }

  @Test func `a time beyond year 9999 is out of range`() {
    let object = SampleSubscription(from: Self.day0, to: Self.day30).json(.basil)
      .adding(["ended_at": 253_402_300_800])
    let body = SampleEvent(
      id: "evt_7", type: "customer.subscription.updated", created: Self.day0, object: object
    ).body
    #expect(undecodable(body)?.code == .numberRange)
  }
}

extension StripeEvent {
  /// The object that the event is about.
  var object: StripeObject? {
    facts.first?.object.base as? StripeObject
  }
}
