import Base
import JSON
import Storage
import Stripe
import StripeSamples
import TestEngines
import Testing

struct WebhookTests {
  private func signed(_ body: [UInt8], at moment: Instant = day0) -> String {
    signatureHeader(body: body, secret: Harness.secret, at: moment)
  }

  @Test(arguments: TestEngine.available)
  func `a signed event is recorded once and a retry is a duplicate`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let event = Customer(tag: harness.tag).invoice(1, "paid", 0)
    #expect(try harness.post(event) == (200, "recorded"))
    #expect(try harness.post(event, at: day0 + .hours(1)) == (200, "duplicate"))
    #expect(try harness.count("SELECT count(*) FROM billing.deliveries") == 1)
    #expect(try harness.count("SELECT redelivery_count FROM billing.deliveries") == 1)
  }

  @Test(arguments: TestEngine.available)
  func `another rendering and another delivery counter are the same event`(engine: TestEngine)
    throws
  {
    let harness = try Harness(engine)
    var customer = Customer(tag: harness.tag)
    var event = customer.invoice(1, "paid", 0)
    try harness.post(event)
    event.pendingWebhookCount = 7
    #expect(try harness.post(event).word == "duplicate")
    customer.shape = .acacia
    #expect(try harness.post(customer.invoice(1, "paid", 0)).word == "duplicate")
  }

  @Test(arguments: TestEngine.available)
  func `one id with two meanings keeps both and raises an alarm`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    try harness.post(customer.invoice(1, "paid", 0))
    let other = customer.invoice(1, "paid", 0) { $0.amountMinorUnits = 1 }
    #expect(try harness.post(other) == (200, "conflicting"))
    #expect(try harness.post(other).word == "duplicate")
    #expect(
      try harness.count("SELECT count(*) FROM billing.deliveries WHERE conflicting = 1") == 1)
  }

  @Test(
    arguments: [
      "charge.refunded", "payment_intent.succeeded", "invoice.upcoming", "never.heard.of",
    ], TestEngine.available)
  func `every other kind is recorded and answered 200`(type: String, engine: TestEngine) throws {
    let harness = try Harness(engine)
    let event = Customer(tag: harness.tag).event("x", type, 0, ["object": "other", "id": "x_1"])
    #expect(try harness.post(event) == (200, "recorded"))
    #expect(
      try harness.count(
        "SELECT count(*) FROM billing.deliveries WHERE disposition = 'recorded'") == 1)
  }

  @Test(arguments: TestEngine.available)
  func `what does not prove its sender is one and the same 400, and leaves nothing`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let body = Customer(tag: harness.tag).invoice(1, "paid", 0).body
    let refused = (400, "urn:coffer:problem:signature_refused")
    #expect(try harness.post(body, signatures: []) == refused)
    #expect(try harness.post(body, signatures: ["t=1,v1=00"]) == refused)
    #expect(try harness.post(body, signatures: [signed(body, at: day(-1))]) == refused)
    #expect(try harness.post(body + [32], signatures: [signed(body)]) == refused)
    #expect(try harness.post(body, signatures: [signed(body), signed(body)]) == refused)
    #expect(try harness.count("SELECT count(*) FROM billing.deliveries") == 0)
  }

  @Test(
    arguments: [
      #"{"id":"evt_1","id":"evt_2","object":"event"}"#, "not json", "",
      #"{"id":"evt_1","object":"event","created":18446744073709551616}"#,
      String(repeating: "[", count: 10_000), #"{"id":"evt_1","object":"event"}"#, "{}", "[]",
    ], TestEngine.available)
  func `a signed body that cannot be read is kept once and answered 200`(
    text: String, engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let body = Array(text.utf8)
    #expect(try harness.post(body, signatures: [signed(body)]) == (200, "undecodable"))
    harness.set(day0 + .minutes(1))
    let retry = signed(body, at: day0 + .minutes(1))
    #expect(try harness.post(body, signatures: [retry]) == (200, "duplicate"))
    #expect(
      try harness.count(
        "SELECT count(*) FROM billing.deliveries WHERE disposition = 'undecodable'") == 1)
  }

  @Test func `half a surrogate pair makes no body unreadable`() throws {
    let harness = try Harness(.sqlite)
    let event = Customer(tag: harness.tag).invoice(1, "paid", 0)
    let text = String(decoding: event.body, as: UTF8.self)
    let body = Array((text.dropLast() + #","odd":"Zo\ud83d"}"#).utf8)
    #expect(try harness.post(body, signatures: [signed(body)]) == (200, "recorded"))
  }

  @Test(arguments: TestEngine.available)
  func `a thin event that cannot be read is kept like any other`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let body = Array(#"{"id":"evt_1","object":"v2.core.event","type":"v1.x"}"#.utf8)
    #expect(try harness.post(body, signatures: [signed(body)]) == (200, "undecodable"))
    #expect(
      try harness.count(
        "SELECT count(*) FROM billing.deliveries WHERE disposition = 'undecodable'") == 1)
  }

  @Test(arguments: TestEngine.available)
  func `an older secret still verifies during a rotation`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let event = Customer(tag: harness.tag).session()
    let service = harness.service(stripe: [Secret("whsec_next"), Harness.secret])
    #expect(
      try harness.post(event.body, signatures: [signed(event.body)], through: service).status
        == 200)
  }

  @Test(arguments: TestEngine.available)
  func `a provider that is off answers with its own problem`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    #expect(
      try harness.post([], signatures: [], through: harness.service(stripe: []))
        == (404, "urn:coffer:problem:provider_not_configured"))
  }

  @Test(arguments: TestEngine.available)
  func `without storage Stripe is told to come back`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let event = Customer(tag: harness.tag).session()
    harness.database.close()
    #expect(try harness.post(event).status == 503)
  }

  @Test(arguments: TestEngine.available)
  func `what an operator must see is counted`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    let counted = [
      #"coffer_billing_alarms_total{alarm="unknown_product"}"#,
      #"coffer_billing_decoder_notes_total{note="malformed_account"}"#,
      #"coffer_billing_rank_falls_total"#,
      #"coffer_billing_signature_refusals_total{provider="stripe",reason="missing-header"}"#,
    ]
    let before = counted.map(metric)
    try harness.post(customer.invoice(1, "paid", 0) { $0.price = "price_new" })
    try harness.post(customer.subscription("updated", 0) { $0.account = "alice" })
    try harness.post(
      customer.subscription("deleted", 1) {
        $0.status = "canceled"
        $0.endedAt = day(1)
      })
    try harness.post(customer.subscription("updated", 2))
    try harness.post([], signatures: [])
    for (name, earlier) in zip(counted, before) { #expect(metric(name) > earlier, "\(name)") }
  }

  /// The value of a line in the process's metrics. Suites run in parallel, so only growth can be tested.
  private func metric(_ name: String) -> Int {
    let lines = Metrics.shared.render().split(separator: "\n")
    let line = lines.first { $0.hasPrefix(name + " ") }
    return line.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
  }
}
