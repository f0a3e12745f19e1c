import Base
import JSON
import Stores
import Stripe
import StripeSamples
import Subscriptions
import Testing

/// Events about money: payments, refunds and disputes in all their forms.
struct PaymentEventTests {
  private static let day0 = Instant(seconds: 1_767_225_600)

  private func decode(_ type: String, _ object: JSONValue) throws -> StripeEvent {
    let secret = Secret("whsec_test")
    let body = SampleEvent(id: "evt_1", type: type, created: Self.day0, object: object).body
    let header = signatureHeader(body: body, secret: secret, at: Self.day0)
    let delivery = try #require(WebhookSecrets([secret]))
      .verify(headers: [Array(header.utf8)], body: body, now: Self.day0)
    return try StripeEvent(delivery)
  }

  private static let refund: JSONValue = [
    "id": "re_1", "object": "refund", "amount": 120, "charge": "ch_1", "created": .seconds(day0),
    "currency": "usd", "metadata": .object([]), "payment_intent": "pi_1", "status": "succeeded",
  ]

  private static func charge(_ more: JSONValue) -> JSONValue {
    let charge: JSONValue = [
      "id": "ch_1", "object": "charge", "amount": 299, "amount_refunded": 0, "paid": true,
      "payment_intent": "pi_1", "refunded": false,
    ]
    return charge.adding(more)
  }

  @Test(arguments: ["invoice_payment.paid", "invoice_payment.created"])
  func `an invoice payment ties its payment to its invoice`(type: String) throws {
    let object: JSONValue = [
      "id": "inpay_1", "object": "invoice_payment", "invoice": "in_1", "status": "paid",
      "amount_paid": 299, "payment": ["type": "payment_intent", "payment_intent": "pi_1"],
    ]
    #expect(
      try decode(type, object).object
        == .invoicePayment(StripeInvoicePayment(invoice: "in_1", payment: "pi_1", status: .paid)))
  }

  @Test func `an invoice payment by a charge, or from outside Stripe, reads too`() throws {
    let object: JSONValue = [
      "id": "inpay_1", "object": "invoice_payment", "invoice": "in_1", "status": "open",
      "payment": ["type": "charge", "charge": "ch_1"],
    ]
    #expect(
      try decode("invoice_payment.paid", object).object
        == .invoicePayment(StripeInvoicePayment(invoice: "in_1", payment: "ch_1", status: .open)))
    let outside = object.adding(["payment": ["type": "payment_record", "payment_record": "pr_1"]])
    #expect(
      try decode("invoice_payment.paid", outside).object
        == .invoicePayment(StripeInvoicePayment(invoice: "in_1", payment: nil, status: .open)))
  }

  @Test(arguments: ["refund.created", "refund.updated", "charge.refund.updated"])
  func `a refund reads whatever event carries it`(type: String) throws {
    #expect(
      try decode(type, Self.refund).object
        == .refund(
          StripeRefund(
            paymentIntent: "pi_1", charge: "ch_1", amountMinorUnits: 120, currency: "usd",
            created: Self.day0,
            status: .succeeded)))
  }

  @Test(arguments: StripeRefund.Status.allCases)
  func `every status of a refund reads`(status: StripeRefund.Status) throws {
    let object = Self.refund.adding(["status": .string(status.rawValue)])
    guard case .refund(let content) = try decode("refund.updated", object).object else {
      Issue.record("no refund")
      return
    }
    #expect(content.status == status)
  }

  @Test func `a refund nobody reported on yet is pending`() throws {
    let object = Self.refund.adding(["status": nil])
    guard case .refund(let content) = try decode("refund.created", object).object else {
      Issue.record("no refund")
      return
    }
    #expect(content.status == .pending)
  }

  @Test func `a refund of no payment concerns no subscription`() throws {
    let object = Self.refund.adding(["charge": nil, "payment_intent": nil])
    #expect(try decode("refund.created", object).facts.isEmpty)
  }

  @Test func `before basil a charge names its invoice, and until 2022 lists its refunds`() throws {
    let object = Self.charge([
      "amount_refunded": 120, "invoice": "in_1",
      "refunds": ["object": "list", "has_more": false, "data": [Self.refund]],
    ])
    let event = try decode("charge.refunded", object)
    #expect(
      event.object
        == .charge(
          StripeCharge(paymentIntent: "pi_1", invoice: "in_1", amountRefunded: 120)))
    #expect(event.facts.map(\.key.id) == ["ch_1", "re_1"])
    #expect(event.incompleteObjects.isEmpty)
  }

  @Test func `a list of refunds that is cut short asks for a read`() throws {
    let object = Self.charge([
      "amount_refunded": 299,
      "refunds": ["object": "list", "has_more": true, "data": [Self.refund]],
    ])
    let event = try decode("charge.refunded", object)
    #expect(event.notes == [.listCutShort])
    #expect(event.incompleteObjects.map(\.id) == ["ch_1"])
  }

  @Test func `a charge without invoice and refund says nothing about a subscription`() throws {
    #expect(try decode("charge.succeeded", Self.charge([])).facts.isEmpty)
    #expect(try decode("charge.refunded", Self.charge(["amount_refunded": 1])).facts.count == 1)
  }

  @Test(arguments: [
    "warning_needs_response", "warning_under_review", "warning_closed", "needs_response",
    "under_review", "won", "lost", "prevented", "novel",
  ])
  func `every status of a dispute reads`(status: String) throws {
    let object: JSONValue = [
      "id": "du_1", "object": "dispute", "amount": 299, "charge": "ch_1",
      "created": .seconds(Self.day0), "payment_intent": nil, "status": .string(status),
    ]
    #expect(
      try decode("charge.dispute.updated", object).object
        == .dispute(
          StripeDispute(
            paymentIntent: nil, charge: "ch_1", amountMinorUnits: 299, created: Self.day0,
            status: StripeDispute.Status(status))))
  }

  @Test func `an old invoice names its payment in two ways`() throws {
    let sample = SampleInvoice(from: Self.day0, to: Self.day0 + .days(30)).json(.acacia)
      .adding(["payment_intent": ["id": "pi_1", "object": "payment_intent"], "charge": "ch_1"])
    guard case .invoice(let content) = try decode("invoice.paid", sample).object else {
      Issue.record("no invoice")
      return
    }
    #expect(content.payments == ["pi_1", "ch_1"])
    #expect(content.amountPaid == 299)
  }

  @Test func `an id of ten kilobytes is undecodable`() {
    let object = Self.refund.adding(["id": .string(String(repeating: "r", count: 10_000))])
    #expect(throws: UndecodableDelivery.self) { try decode("refund.created", object) }
  }

  /// Every event that the endpoint asks Stripe to deliver, and the kind of mirror that it feeds.
  private static let kinds: [(types: [String], object: JSONValue, kind: ObjectKey.Kind?)] = {
    let day30 = day0 + .days(30)
    let dispute: JSONValue = [
      "id": "du_1", "object": "dispute", "amount": 299, "charge": "ch_1",
      "created": .seconds(day0), "status": "needs_response",
    ]
    return [
      (
        ["created", "updated", "deleted", "paused", "resumed", "trial_will_end"].map {
          "customer.subscription.\($0)"
        } + ["applied", "expired"].map { "customer.subscription.pending_update_\($0)" },
        SampleSubscription(from: day0, to: day30).json(.basil), .subscription
      ),
      (
        [
          "paid", "payment_succeeded", "payment_failed", "payment_action_required",
          "payment_attempt_required", "will_be_due", "overdue", "overpaid", "created", "finalized",
          "updated", "sent", "finalization_failed", "marked_uncollectible", "voided",
        ].map { "invoice.\($0)" }, SampleInvoice(from: day0, to: day30).json(.basil), .invoice
      ),
      (
        ["completed", "async_payment_succeeded", "async_payment_failed", "expired"].map {
          "checkout.session.\($0)"
        }, sampleSession(account: nil), .checkoutSession
      ),
      (["refund.created", "refund.updated", "refund.failed"], refund, .refund),
      (
        ["created", "updated", "funds_withdrawn", "funds_reinstated", "closed"].map {
          "charge.dispute.\($0)"
        }, dispute, .dispute
      ),
      (["charge.refunded"], charge(["amount_refunded": 299]), .charge),
      (["customer.deleted"], ["id": "cus_1", "object": "customer"], .customer),
      (["customer.updated"], ["id": "cus_1", "object": "customer"], nil),
      (["invoice.upcoming"], SampleInvoice(from: day0, to: day30).json(.basil), nil),
      (
        ["radar.early_fraud_warning.created"],
        ["id": "issfr_1", "object": "radar.early_fraud_warning", "charge": "ch_1"], nil
      ),
      (
        ["attached", "detached", "updated", "automatically_updated"].map { "payment_method.\($0)" },
        ["id": "pm_1", "object": "payment_method", "customer": nil], nil
      ),
      (
        ["setup_failed", "succeeded", "requires_action", "canceled"].map { "setup_intent.\($0)" },
        ["id": "seti_1", "object": "setup_intent"], nil
      ),
      (
        ["created", "updated", "released", "completed", "canceled", "aborted", "expiring"].map {
          "subscription_schedule.\($0)"
        }, ["id": "sub_sched_1", "object": "subscription_schedule", "subscription": "sub_1"], nil
      ),
      (
        ["entitlements.active_entitlement_summary.updated"],
        ["object": "entitlements.active_entitlement_summary", "customer": "cus_1"], nil
      ),
      (
        ["test_helpers.test_clock.ready"],
        ["id": "clock_1", "object": "test_helpers.test_clock"], nil
      ),
    ]
  }()

  @Test func `every event of Stripe's list feeds its mirror or is only recorded`() throws {
    for (types, object, kind) in Self.kinds {
      for type in types {
        #expect(
          try decode(type, object).facts.map(\.key.kind) == (kind.map { [$0] } ?? []), "\(type)")
      }
    }
  }
}
