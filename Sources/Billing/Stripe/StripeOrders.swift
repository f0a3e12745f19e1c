import Base
import JSON
import ProviderAPI
import Stores
import Subscriptions
import Tiers

/// The orders that operators give to Stripe. Each call may be repeated and takes effect once.
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
      var form: Form = [(payment.hasPrefix("pi_") ? "payment_intent" : "charge", payment)]
      if let amount {
        guard let count = amount.stripeCount, count > 0 else {
          throw .refused(status: 0, "\(amount) is no amount that Stripe can pay back")
        }
        form.append(("amount", String(count)))
      }
      try send("POST", "/v1/refunds", form, key: "coffer-refund-\(name)")
    }
  }

  /// Ends the subscription with the paid period. If no period is paid, it ends at once: until the end of the period,
  /// Stripe would continue to collect what is owed for it. https://docs.stripe.com/billing/subscriptions/cancel
  private func stopRenewal(_ path: String) throws(APIFailure) {
    if case .answered(let json) = try get(path) {
      switch StripeEnding(status: json["status"].string) {
      case .atOnce: return try end(path)
      case .over: return
      case .withPeriod:
        guard !json.endsWithPeriod else { return }
        try release(scheduleOf: json)
        // Stripe takes only one of a date and the flag.
        if json.isCancelledByDate { try send("POST", path, [("cancel_at", "")]) }
      }
    }
    try send("POST", path, [("cancel_at_period_end", "true")])
  }

  /// Ends the subscription now. One that has ended is not found when it is ended again. After a lost answer that is
  /// success and not a refusal. Only the subscription's own record distinguishes it from one that never existed.
  private func end(_ path: String) throws(APIFailure) {
    do throws(APIFailure) { try send("DELETE", path) } catch .notFound {
      guard case .answered(let json) = try get(path),
        StripeEnding(status: json["status"].string) == .over
      else { throw .notFound }
    }
  }

  /// Releases the subscription from its schedule. While a schedule controls it, for example to make it smaller with
  /// its next period, nothing else can end it. https://docs.stripe.com/billing/subscriptions/subscription-schedules
  private func release(scheduleOf json: JSON) throws(APIFailure) {
    guard let schedule = json["schedule"].reference else { return }
    try send("POST", "/v1/subscription_schedules/\(PercentEncoding.encode(schedule))/release")
  }

  private func send(
    _ method: String, _ path: String, _ form: Form = [], key name: String? = nil
  ) throws(APIFailure) {
    let answer = try transport.send(change(method, path, form, key: name)).stripeBody()
    // A page from something between us and Stripe does not say what was done.
    guard (try? JSON.parseForeign(answer)) != nil else { throw .malformed("it is no JSON") }
  }
}

extension StripeRecord {
  /// The payment intent that paid an invoice, or the charge if there is none.
  fileprivate func payment(of invoice: String) -> String? {
    let payments = invoicePayments.values.flatMap(\.contents)
      .filter { $0.invoice == invoice && $0.status == .paid }.compactMap(\.payment)
    let charged = charges.flatMap { id, mirror in
      mirror.contents.filter { $0.invoice == invoice }.map { $0.paymentIntent ?? id }
    }
    return payments.min() ?? charged.min()
  }
}
