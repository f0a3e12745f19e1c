import JSON

/// The collections of the API, oldest first, each row with the fields that filters use.
extension StripeReads {
  func rows(of kind: String, _ expandsPayments: Bool) -> [Row] {
    switch kind {
    case "subscriptions": subscriptions
    case "invoices": invoices(expandsPayments)
    case "invoice_payments": invoicePayments
    case "refunds": refunds
    case "disputes": disputes
    case "charges": charges
    case "customers": customers
    case "checkout/sessions": sessions
    case "setup_intents":
      rendering.world.setupIntents.rows.map {
        Row(id: $0.id, fields: ["customer": $0.customer], json: rendering.setupIntent($0))
      }
    case "subscription_schedules":
      rendering.world.schedules.rows.map {
        Row(
          id: $0.id, fields: ["customer": rendering.world.subscriptions[$0.subscription].customer],
          json: rendering.schedule($0))
      }
    case "events": rendering.world.events.rows.map { Row(id: $0.id, fields: [:], json: $0.json) }
    default: []
    }
  }

  private var subscriptions: [Row] {
    rendering.world.subscriptions.rows.map {
      Row(
        id: $0.id,
        fields: ["customer": $0.customer, "price": $0.price.id, "status": $0.status.rawValue],
        json: rendering.subscription($0))
    }
  }

  private func invoices(_ expandsPayments: Bool) -> [Row] {
    rendering.world.invoices.rows.map { invoice in
      var json = rendering.invoice(invoice)
      if expandsPayments, rendering.version.isBasil, case .object(let members) = json {
        let own = invoicePayments.filter { $0.fields["invoice"] == invoice.id }.map { $0.json }
        let list = rendering.list(own, url: "/v1/invoice_payments?invoice=\(invoice.id)")
        json = .object(members + [.init("payments", list)])
      }
      return Row(
        id: invoice.id,
        fields: [
          "customer": invoice.customer, "status": invoice.status.rawValue,
          "subscription": invoice.subscription,
        ], json: json)
    }
  }

  /// Empty before basil.
  private var invoicePayments: [Row] {
    guard rendering.version.isBasil else { return [] }
    return rendering.world.payments.rows.map {
      let json = rendering.invoicePayment($0)
      return Row(
        id: $0.invoicePayment,
        fields: [
          "invoice": $0.invoice, "payment[payment_intent]": $0.intent,
          "status": json["status"].text,
        ], json: json)
    }
  }

  private var refunds: [Row] {
    rendering.world.refunds.rows.map {
      Row(id: $0.id, fields: fields(ofPayment: $0.payment), json: rendering.refund($0))
    }
  }

  private var disputes: [Row] {
    rendering.world.disputes.rows.map {
      Row(id: $0.id, fields: fields(ofPayment: $0.payment), json: rendering.dispute($0))
    }
  }

  private func fields(ofPayment id: String) -> [String: String] {
    ["payment_intent": id, "charge": rendering.world.payments[id].charge]
  }

  private var charges: [Row] {
    rendering.world.payments.rows.map {
      Row(
        id: $0.charge, fields: ["customer": $0.customer, "payment_intent": $0.intent],
        json: rendering.charge($0))
    }
  }

  private var customers: [Row] {
    rendering.world.customers.rows.map {
      Row(id: $0.id, fields: ["email": $0.email], json: rendering.customer($0))
    }
  }

  private var sessions: [Row] {
    rendering.world.sessions.rows.map {
      Row(
        id: $0.id,
        fields: [
          "customer": $0.customer ?? "", "subscription": $0.subscription ?? "",
          "status": $0.status,
        ], json: rendering.session($0))
    }
  }
}
