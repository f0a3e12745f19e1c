import Base
import JSON

/// Customers, sessions, and payments with their reversals.
extension StripeRendering {
  func customer(_ customer: StripeWorld.Customer) -> JSONValue {
    let subscriptions = world.subscriptions.rows.filter { $0.customer == customer.id }
    var values: [String: JSONValue] = [
      "id": .string(customer.id), "live": live, "balance": .integer(customer.balance),
      "created": .seconds(customer.created),
      "delinquent": .bool(subscriptions.contains { $0.status == .pastDue }),
      "invoice_prefix": .string(stripeLetters(customer.id, 8).uppercased()),
      "payment_method": customer.card == .missing ? .null : .string(customer.paymentMethod),
    ]
    let count = subscriptions.reduce(1) { $0 + $1.invoiceCount }
    values["next_invoice_sequence"] = .integer(Int64(count))
    values.merge(person(customer.id)) { $1 }
    return StripeTemplate.customer.filled(version, values)
  }

  /// The answer to a read of a deleted customer.
  func deletedCustomer(_ id: String) -> JSONValue {
    ["id": .string(id), "object": "customer", "deleted": true]
  }

  func session(_ session: StripeWorld.Session) -> JSONValue {
    let isFree = session.trialDays > 0
    var values: [String: JSONValue] = [
      "id": .string(session.id), "live": live, "metadata": metadata(session.account, session.flow),
      "amount": .integer(isFree ? 0 : session.amount), "status": .string(session.status),
      "payment_status": .string(session.paymentStatus), "created": .seconds(session.created),
      "expires_at": .seconds(session.created + StripeSettings.sessionSpan),
      "customer": .text(session.customer), "subscription": .text(session.subscription),
      "invoice": .text(session.invoice),
      "payment_method_types": session.isDelayed ? ["sepa_debit"] : ["card"],
      "payment_method_collection": isFree ? "if_required" : "always",
    ]
    // The customer can write this member, so nothing may follow from it.
    values["reference"] = .string("basket-\(stripeLetters(session.id + "reference", 12))")
    values["url"] =
      session.status == "open"
      ? .string("https://checkout.stripe.com/c/pay/\(session.id)") : .null
    values.merge(person(session.customer)) { $1 }
    return StripeTemplate.session.filled(version, values)
  }

  func charge(_ payment: StripeWorld.Payment) -> JSONValue {
    StripeTemplate.charge.filled(version, values(payment))
  }

  func paymentIntent(_ payment: StripeWorld.Payment) -> JSONValue {
    var values = values(payment)
    values["created"] = .seconds(payment.created)
    return StripeTemplate.paymentIntent.filled(version, values)
  }

  private func values(_ payment: StripeWorld.Payment) -> [String: JSONValue] {
    let customer = world.customers[payment.customer]
    let refunds = world.refunds.rows.filter { $0.payment == payment.intent }
    let refunded = refunds.filter { $0.status != .failed }.reduce(0) { $0 + $1.amount }
    let hasSucceeded = payment.status == .succeeded
    let failed = payment.status == .failed
    var values: [String: JSONValue] = [
      "charge": .string(payment.charge), "live": live, "amount": .integer(payment.amount),
      "captured": .integer(hasSucceeded ? payment.amount : 0), "succeeded": .bool(hasSucceeded),
      "refunded_amount": .integer(refunded), "refunded": .bool(refunded == payment.amount),
      "refunds": list(refunds.map(refund), url: "/v1/charges/\(payment.charge)/refunds"),
      "created": .seconds(payment.chargedAt), "customer": .string(payment.customer),
      "dispute": .text(payment.dispute), "disputed": .bool(payment.dispute != nil),
      "invoice": .string(payment.invoice), "payment_intent": .string(payment.intent),
      "payment_method": .string(customer.paymentMethod),
    ]
    values["status"] =
      failed ? "failed" : .string(payment.status == .processing ? "pending" : "succeeded")
    values["transaction"] = hasSucceeded ? .string(stripeIdentifier("txn", payment.charge)) : .null
    values["failure_code"] = failed ? "card_declined" : .null
    values["failure_message"] = failed ? "Your card was declined." : .null
    values["outcome"] = outcome(failed: failed)
    values["fingerprint"] = .string(stripeLetters(payment.customer + "card", 16))
    values["receipt_url"] =
      hasSucceeded
      ? .string("https://pay.stripe.com/receipts/invoices/\(stripeLetters(payment.charge, 80))")
      : .null
    values["received"] = .integer(hasSucceeded ? payment.amount : 0)
    values["client_secret"] = .string(
      "\(payment.intent)_secret_\(stripeLetters(payment.intent + "secret", 25))")
    values["error"] =
      failed
      ? [
        "code": "card_declined", "decline_code": "insufficient_funds",
        "message": "Your card has insufficient funds.", "type": "card_error",
      ] : .null
    values["intent_status"] =
      failed
      ? "requires_payment_method" : .string(hasSucceeded ? "succeeded" : "processing")
    values["charges"] = list([], url: "/v1/charges?payment_intent=\(payment.intent)")
    values.merge(person(payment.customer)) { $1 }
    return values
  }

  private func outcome(failed: Bool) -> JSONValue {
    [
      "network_status": failed ? "declined_by_network" : "approved_by_network",
      "reason": failed ? "insufficient_funds" : nil, "risk_level": "normal", "risk_score": 21,
      "seller_message": failed
        ? "The bank returned the decline code `insufficient_funds`." : "Payment complete.",
      "type": failed ? "issuer_declined" : "authorized",
    ]
  }

  func invoicePayment(_ payment: StripeWorld.Payment) -> JSONValue {
    let isPaid = payment.status == .succeeded
    let status = isPaid ? "paid" : payment.canceledAt == nil ? "open" : "canceled"
    return StripeTemplate.invoicePayment.filled(
      version,
      [
        "id": .string(payment.invoicePayment), "live": live, "amount": .integer(payment.amount),
        "amount_paid": isPaid ? .integer(payment.amount) : .null,
        "created": .seconds(payment.created), "invoice": .string(payment.invoice),
        "payment_intent": .string(payment.intent), "status": .string(status),
        "canceled_at": .seconds(payment.canceledAt), "paid_at": .seconds(payment.paidAt),
      ])
  }

  func refund(_ refund: StripeWorld.Refund) -> JSONValue {
    let failed = refund.status == .failed
    return StripeTemplate.refund.filled(
      version,
      [
        "id": .string(refund.id), "amount": .integer(refund.amount),
        "charge": .string(world.payments[refund.payment].charge),
        "created": .seconds(refund.created), "payment_intent": .string(refund.payment),
        "status": .string(refund.status.rawValue), "reason": "requested_by_customer",
        "transaction": .string(stripeIdentifier("txn", refund.id)),
        "failure_transaction": failed
          ? .string(stripeIdentifier("txn", refund.id + "failure")) : .null,
        "failure_reason": failed ? "lost_or_stolen_card" : .null,
        "pending_reason": refund.status == .pending ? "processing" : .null,
        "reference": .string(stripeLetters(refund.id, 23)),
        "reference_status": refund.status == .pending ? "pending" : "available",
      ])
  }

  func dispute(_ dispute: StripeWorld.Dispute) -> JSONValue {
    let payment = world.payments[dispute.payment]
    var values: [String: JSONValue] = [
      "id": .string(dispute.id), "live": live, "amount": .integer(dispute.amount),
      "charge": .string(payment.charge), "created": .seconds(dispute.created),
      "payment_intent": .string(dispute.payment), "reason": .string(dispute.reason),
      "status": .string(dispute.status),
    ]
    values["due_by"] = .seconds(dispute.created + .days(14))
    values["has_evidence"] = .bool(dispute.hasEvidence)
    values["submission_count"] = dispute.hasEvidence ? 1 : 0
    values.merge(person(payment.customer)) { $1 }
    return StripeTemplate.dispute.filled(version, values)
  }
}

extension StripeWorld.Session {
  fileprivate var amount: Int64 { additions.reduce(price.amount) { $0 + $1.amount } }
}
