package import Base
package import JSON

/// A subscription to one price.
package struct SampleSubscription: Sendable {
  package var id = "sub_1"
  package var customer = "cus_1"
  package var status = "active"
  package var price = "price_premium"
  package var product = "prod_premium"
  package var from: Instant
  package var to: Instant
  package var cancelAtPeriodEnd = false
  package var cancelAt: Instant?
  package var canceledAt: Instant?
  package var schedule: String?
  package var endedAt: Instant?
  package var cancellationReason: String?
  package var trial: Range<Instant>?
  package var account: String?
  package var startDate: Instant?

  package init(from: Instant, to: Instant) {
    self.from = from
    self.to = to
  }

  package func json(_ shape: Shape) -> JSONValue {
    let period: JSONValue = [
      "current_period_start": .seconds(from), "current_period_end": .seconds(to),
    ]
    let item: JSONValue = [
      "id": "si_1", "object": "subscription_item", "quantity": 1,
      "price": [
        "id": .string(price), "object": "price", "product": .string(product), "currency": "usd",
        "unit_amount": 299, "recurring": ["interval": "month", "interval_count": 1],
      ],
    ]
    let subscription: JSONValue = [
      "id": .string(id), "object": "subscription", "customer": .string(customer),
      "status": .string(status), "cancel_at_period_end": .bool(cancelAtPeriodEnd),
      "cancel_at": .seconds(cancelAt), "canceled_at": .seconds(canceledAt),
      "ended_at": .seconds(endedAt),
      "cancellation_details": [
        "comment": nil, "feedback": nil,
        "reason": cancellationReason.map { .string($0) } ?? .null,
      ],
      "trial_start": .seconds(trial?.lowerBound), "trial_end": .seconds(trial?.upperBound),
      "pause_collection": nil, "schedule": schedule.map { .string($0) } ?? .null,
      "items": [
        "object": "list", "has_more": false,
        "data": [shape == .basil ? item.adding(period) : item],
      ], "metadata": account.map { ["coffer_account": .string($0)] } ?? .object([]),
      "livemode": true, "latest_invoice": "in_1", "start_date": .seconds(startDate),
    ]
    return shape == .basil ? subscription : subscription.adding(period)
  }
}

/// An invoice with one line for the subscription's price.
package struct SampleInvoice: Sendable {
  package var id = "in_1"
  package var subscription: String? = "sub_1"
  package var customer = "cus_1"
  package var status = "paid"
  package var billingReason = "subscription_create"
  package var isAttempted = true
  package var price = "price_premium"
  package var product = "prod_premium"
  package var amountMinorUnits: Int64 = 299
  package var created: Instant
  package var paidAt: Instant?
  package var from: Instant
  package var to: Instant
  package var hasMoreLines = false

  package init(from: Instant, to: Instant) {
    self.from = from
    self.to = to
    created = from
    paidAt = from
  }

  package func json(_ shape: Shape) -> JSONValue {
    let invoice: JSONValue = [
      "id": .string(id), "object": "invoice", "customer": .string(customer),
      "status": .string(status), "billing_reason": .string(billingReason),
      "attempted": .bool(isAttempted), "attempt_count": .integer(isAttempted ? 1 : 0),
      "created": .seconds(created), "amount_due": .integer(amountMinorUnits),
      "amount_paid": .integer(status == "paid" ? amountMinorUnits : 0), "currency": "usd",
      "period_start": .seconds(from), "period_end": .seconds(from),
      "status_transitions": [
        "finalized_at": .seconds(created), "marked_uncollectible_at": nil,
        "paid_at": .seconds(status == "paid" ? paidAt : nil), "voided_at": nil,
      ], "lines": ["object": "list", "has_more": .bool(hasMoreLines), "data": [line(shape)]],
      "livemode": true,
    ]
    let link = subscription.map { JSONValue.string($0) } ?? .null
    switch shape {
    case .acacia: return invoice.adding(["subscription": link])
    case .basil:
      let parent: JSONValue = [
        "type": "subscription_details", "quote_details": nil,
        "subscription_details": ["subscription": link, "metadata": .object([])],
      ]
      return invoice.adding(["parent": subscription == nil ? .null : parent])
    }
  }

  private func line(_ shape: Shape) -> JSONValue {
    let line: JSONValue = [
      "id": "il_1", "object": "line_item", "amount": .integer(amountMinorUnits), "currency": "usd",
      "period": ["start": .seconds(from), "end": .seconds(to)], "quantity": 1,
    ]
    let link = subscription.map { JSONValue.string($0) } ?? .null
    switch shape {
    case .acacia:
      return line.adding([
        "price": ["id": .string(price), "object": "price", "product": .string(product)],
        "subscription": link, "subscription_item": "si_1", "proration": false,
        "type": "subscription",
      ])
    case .basil:
      return line.adding([
        "pricing": [
          "type": "price_details", "unit_amount_decimal": "299",
          "price_details": ["price": .string(price), "product": .string(product)],
        ],
        "parent": [
          "type": "subscription_item_details", "invoice_item_details": nil,
          "subscription_item_details": [
            "subscription": link, "subscription_item": "si_1", "proration": false,
          ],
        ],
      ])
    }
  }
}

/// A finished checkout session.
package func sampleSession(
  id: String = "cs_1", subscription: String? = "sub_1", account: String?
) -> JSONValue {
  [
    "id": .string(id), "object": "checkout.session", "mode": "subscription", "status": "complete",
    "payment_status": "paid", "client_reference_id": "0b50dfbe-8c5b-4a7c-9f36-1f2d3b6fffff",
    "customer": "cus_1", "subscription": subscription.map { .string($0) } ?? .null,
    "metadata": account.map { ["coffer_account": .string($0)] } ?? .object([]),
    "customer_details": ["email": "someone@example.com", "name": "Some One"], "livemode": true,
  ]
}
