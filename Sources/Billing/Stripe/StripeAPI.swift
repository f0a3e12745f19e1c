package import Base
import JSON
package import ProviderAPI
package import Stores
package import Subscriptions
package import Tiers

/// Reads from Stripe's API what deliveries did not report, or reported in contradictory ways.
///
/// It also carries out operators' orders. Every call blocks. The transport bounds each request in time and
/// size, and each answer here is bounded in requests. Any thread may call it. https://docs.stripe.com/api
package struct StripeAPI: Sendable {
  /// The API version of reads, independent of the account's own version. 2026-09-30 is the first
  /// that gives the reason for a subscription's pause.
  package static let version = "2026-10-28.endive"
  /// The API version of changes. Later versions removed something from it, such as the `iterations` of a schedule's
  /// phase. https://docs.stripe.com/changelog/clover/2025-09-30/remove-iterations
  package static let orderVersion = "2025-03-31.basil"
  package static let standardBase = "https://api.stripe.com"

  let base: String
  let key: Secret
  package let environment: StoreEnvironment
  let transport: any ProviderTransport

  /// `base` has no slash at its end; `key` belongs to the environment.
  package init(
    base: String = StripeAPI.standardBase, key: Secret, environment: StoreEnvironment,
    transport: any ProviderTransport
  ) {
    self.base = base
    self.key = key
    self.environment = environment
    self.transport = transport
  }

  /// Reads the subscription and everything that its coverage and owner depend on.
  ///
  /// These are its customer if deleted, its checkout sessions and invoices, their payments, and the refunds
  /// and disputes of those. A monthly subscription takes about 30 requests, and two more for each payment.
  package func record(of subscription: String) throws(APIFailure) -> StoreAnswer {
    var reading = StripeReading(self)
    try reading.readRecord(of: subscription)
    return reading.answer
  }

  /// Reads a named object, and the records of the subscriptions that it concerns.
  ///
  /// An object without a subscription, such as a payment for something else, is read alone.
  package func records(about key: ObjectKey) throws(APIFailure) -> StoreAnswer {
    var reading = StripeReading(self)
    switch key.kind {
    case .subscription: try reading.readRecord(of: key.id)
    case .payment: try reading.readRecords(paidBy: key.id)
    case .customer: try reading.read("/v1/customers/\(PercentEncoding.encode(key.id))")
    case .invoice: try reading.readRecords(ofInvoices: [key.id])
    case .invoicePayment:
      let payment = try reading.read("/v1/invoice_payments/\(PercentEncoding.encode(key.id))")
      try reading.readRecords(ofInvoices: [payment["invoice"].reference].compactMap { $0 })
    case .checkoutSession:
      let session = try reading.read("/v1/checkout/sessions/\(PercentEncoding.encode(key.id))")
      if let id = session["subscription"].reference { try reading.readRecord(of: id) }
    case .charge: try reading.readRecords(paidBy: key.id)
    case .refund, .dispute:
      let reversal = try reading.read("/v1/\(key.kind.rawValue)s/\(PercentEncoding.encode(key.id))")
      let payment = reversal["payment_intent"].reference ?? reversal["charge"].reference
      if let payment { try reading.readRecords(paidBy: payment) }
    default:
      throw .refused(status: 0, "is no object of Stripe's")
    }
    return reading.answer
  }
}

extension StripeReading {
  /// Reads the subscription and everything linked to it.
  fileprivate mutating func readRecord(of subscription: String) throws(APIFailure) {
    let object = try read("/v1/subscriptions/\(PercentEncoding.encode(subscription))")
    guard object["livemode"].bool == (api.environment == .live) else {
      throw .misconfigured("the key is of another environment than the subscription")
    }
    do {
      try readRest(of: subscription, customer: object["customer"].reference)
    } catch .notFound {
      throw .refused(status: 404, "an object that the subscription names is not there")
    }
  }

  /// Reads the subscriptions that a refund, a dispute or a charge concerns, with everything linked to them.
  fileprivate mutating func readRecords(paidBy payment: String) throws(APIFailure) {
    var (kind, id) = ("payment_intent", payment)
    if !payment.hasPrefix("pi_") {
      let charge = try read("/v1/charges/\(PercentEncoding.encode(payment))")
      if let intent = charge["payment_intent"].reference {
        id = intent
      } else {
        kind = "charge"
      }
    }
    let payments = try list(
      "/v1/invoice_payments", [("payment[type]", kind), ("payment[\(kind)]", id)])
    try readRecords(ofInvoices: payments.compactMap { $0["invoice"].reference })
  }

  fileprivate mutating func readRecords(ofInvoices ids: [String]) throws(APIFailure) {
    for id in Set(ids).sorted() { try read("/v1/invoices/\(PercentEncoding.encode(id))") }
    let subscriptions = answer.facts.compactMap { fact -> String? in
      guard case .invoice(let invoice)? = fact.object.base as? StripeObject,
        ids.contains(fact.key.id)
      else {
        return nil
      }
      return invoice.subscription
    }
    for id in Set(subscriptions).sorted() { try readRecord(of: id) }
  }
}

extension StoreAnswer {
  mutating func add(_ decoder: ObjectDecoder) {
    facts += decoder.facts
    notes.formUnion(decoder.notes.map(\.rawValue))
  }
}
