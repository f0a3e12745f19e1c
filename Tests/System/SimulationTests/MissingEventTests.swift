import Base
import BillingSimulation
import JSON
import ProviderFakes
import Stripe
import TestEngines
import Testing

/// Events to which an endpoint is not subscribed, or which an outage has lost, are found by a read of what
/// they left behind.
struct MissingEventTests {
  private static let invoiceEvents: Set = [
    "invoice.created", "invoice.finalized", "invoice.paid", "invoice.payment_failed",
    "invoice.voided", "invoice_payment.paid",
  ]
  private static let refundEvents: Set = [
    "charge.refund.updated", "invoice_payment.paid", "refund.created", "refund.updated",
  ]

  static let purchases = [
    "first-purchase", "renewal", "year-renewal", "upgrade-of-tier-paid-at-once",
    "addition-bought-within", "resubscribed-at-the-store",
  ]

  @Test(arguments: StripeVersion.allCases, purchases)
  func `an endpoint without invoices ends where a whole one does`(
    version: StripeVersion, name: String
  ) throws {
    let story = try #require(StripeStory.all.first { $0.name == name })
    let whole = try lived(Live(story, version))
    let lacking = try lived(Live(story, version, events: .lacking(Self.invoiceEvents)))
    #expect(try lacking.digest() == whole.digest())
    let invoices = try lacking.count(
      "SELECT count(*) FROM billing.mirrors WHERE substr(object, 1, 20) = 'stripe:live:invoice:'")
    let asked = try lacking.count(
      """
      SELECT count(DISTINCT reason) FROM billing.read_requests
      WHERE substr(reason, 1, 16) = 'unknown_invoice:'
      """)
    #expect((1...invoices).contains(asked), "one read for each invoice at most")
  }

  static let refunds = ["refund-of-the-current-period", "refund-of-the-second-period"]

  @Test(arguments: StripeVersion.allCases, refunds)
  func `a full refund that only the charge tells of ends what it paid for`(
    version: StripeVersion, name: String
  ) throws {
    let story = try #require(StripeStory.all.first { $0.name == name })
    let whole = try lived(Live(story, version))
    let lacking = try lived(Live(story, version, events: .lacking(Self.refundEvents)))
    #expect(try lacking.digest() == whole.digest())
    #expect(try lacking.digest().contains { $0.contains("refunded") })
  }

  static let changes = [
    "first-purchase", "failed-payment-lapse", "refund-of-the-current-period", "dispute-lost",
    "customer-deleted", "addition-bought-within",
  ]

  @Test(arguments: StripeVersion.allCases, changes)
  func `an endpoint of thin events ends where one of snapshots does`(
    version: StripeVersion, name: String
  ) throws {
    let story = try #require(StripeStory.all.first { $0.name == name })
    let live = Live(story, version)
    let thin = Live(
      name: live.name,
      events: live.events.map { event in
        guard case .delivery(let request) = event.what else { return event }
        return .init(at: event.at, what: .delivery { Self.thin(request($0), at: $0) })
      }, stores: live.stores, end: live.end, faults: live.faults)
    let run = try lived(thin)
    #expect(try run.digest() == lived(live).digest())
    #expect(
      try run.count("SELECT count(*) FROM billing.deliveries WHERE disposition = 'joined'")
        == run.count("SELECT count(*) FROM billing.deliveries WHERE type = 'read'"))
  }

  /// Delivers everything in order, and reads when due.
  private func lived(_ live: Live) throws -> Installation {
    let installation = try Installation(.sqlite, live.stores)
    for event in live.events {
      guard case .delivery(let request) = event.what else { continue }
      installation.now = max(installation.now, event.at)
      #expect(try installation.deliver(request(installation.now)) == 200)
      try installation.runDue()
    }
    installation.now = max(installation.now, live.end)
    try installation.settle()
    return installation
  }

  /// The event notification of API v2 that reports the same change.
  private static func thin(_ request: FakeRequest, at now: Instant) -> FakeRequest {
    guard let event = try? JSON.parse(request.body) else { return request }
    let object = event["data"]["object"]
    let created = Instant(seconds: event["created"].integer ?? 0)
    let body: JSONValue = [
      "id": .string((event["id"].string ?? "") + "thin"), "object": "v2.core.event",
      "type": .string("v1." + (event["type"].string ?? "")), "livemode": true,
      "created": .string("\(created)".replacingLast("Z", with: ".123Z")), "context": nil,
      "reason": nil,
      "related_object": [
        "id": .string(object["id"].string ?? ""), "type": .string(object["object"].string ?? ""),
        "url": "/v1/objects",
      ],
    ]
    let bytes = body.encoded()
    let signature = signatureHeader(
      body: bytes, secret: Secret("whsec_test_FakeStripeEndpoint0000"), at: now)
    return FakeRequest(
      method: request.method, path: request.path, headers: [("Stripe-Signature", signature)],
      body: bytes)
  }
}

extension String {
  fileprivate func replacingLast(_ last: Character, with text: String) -> String {
    self.last == last ? dropLast() + text : self
  }
}
