internal import Base
internal import HTTPMessages
internal import JSON
internal import ProviderAPI
internal import Stores
internal import Subscriptions
internal import Tiers

/// What operators have Stripe do. Each call may be repeated: what it does is done once.
/// https://docs.stripe.com/api/idempotent_requests
extension StripeAPI {
  func perform(
    _ order: StoreOrder, on subscription: String, _ record: StripeRecord
  ) throws(APIFailure) {
    let path = "/v1/subscriptions/\(PercentEncoding.encode(subscription))"
    switch order {
    case .stopRenewal: try stopRenewal(path)
    case .end: try end(path)
    case .extend: throw .refused(status: 0, StripeStore.extensionAdvice)
    case .refund(let invoice, let amount, let name):
      guard let payment = record.payment(of: invoice) else {
        throw .refused(status: 0, "nothing is known that paid the invoice \(invoice)")
      }
      var form = [(payment.hasPrefix("pi_") ? "payment_intent" : "charge", payment)]
      if let amount {
        guard let count = amount.stripeCount, count > 0 else {
          throw .refused(status: 0, "\(amount) is no amount that Stripe can pay back")
        }
        form.append(("amount", String(count)))
      }
      try send("POST", "/v1/refunds", form, key: "coffer-refund-\(name)")
    }
  }

  /// It ends with the period that is paid for. Where none is, it ends at once: until the flag's period ended,
  /// Stripe would go on trying to collect what is owed for it.
  /// https://docs.stripe.com/billing/subscriptions/cancel
  private func stopRenewal(_ path: String) throws(APIFailure) {
    if case .answered(let json) = try get(path) {
      switch StripeEnding(status: json["status"].string) {
      case .atOnce: return try end(path)
      case .over: return
      case .withPeriod: try release(scheduleOf: json)
      }
    }
    try send("POST", path, [("cancel_at_period_end", "true")])
  }

  /// What has ended is not there to be ended once more. After a lost answer that is what was ordered, and not a
  /// refusal; only its own record tells it from a subscription that never was.
  private func end(_ path: String) throws(APIFailure) {
    do throws(APIFailure) { try send("DELETE", path) } catch .notFound {
      guard case .answered(let json) = try get(path),
        StripeEnding(status: json["status"].string) == .over
      else { throw .notFound }
    }
  }

  /// What a schedule leads, as one that becomes smaller with its next period, is ended by nobody else.
  /// https://docs.stripe.com/billing/subscriptions/subscription-schedules
  private func release(scheduleOf json: JSON) throws(APIFailure) {
    guard let schedule = json["schedule"].reference else { return }
    try send("POST", "/v1/subscription_schedules/\(PercentEncoding.encode(schedule))/release")
  }

  private func send(
    _ method: String, _ path: String, _ form: [(String, String)] = [], key name: String? = nil
  ) throws(APIFailure) {
    var headers = orderHeaders
    if let name { headers.append(("Idempotency-Key", name)) }
    var body: [UInt8]?
    if !form.isEmpty {
      headers.append(("Content-Type", "application/x-www-form-urlencoded"))
      let fields = form.map { "\(PercentEncoding.encode($0.0))=\(PercentEncoding.encode($0.1))" }
      body = Array(fields.joined(separator: "&").utf8)
    }
    let answer = try transport.send(APIRequest(method, base + path, headers: headers, body: body))
      .stripeBody()
    // A page of somebody between us and Stripe says nothing of what was done.
    guard (try? JSON.parseForeign(answer)) != nil else { throw .malformed("it is no JSON") }
  }
}

extension StripeRecord {
  /// The payment intent that paid an invoice, or the charge where there is none.
  fileprivate func payment(of invoice: String) -> String? {
    let payments = invoicePayments.values.flatMap(\.contents)
      .filter { $0.invoice == invoice && $0.status == .paid }.compactMap(\.payment)
    let charged = charges.flatMap { id, mirror in
      mirror.contents.filter { $0.invoice == invoice }.map { $0.paymentIntent ?? id }
    }
    return payments.min() ?? charged.min()
  }
}
