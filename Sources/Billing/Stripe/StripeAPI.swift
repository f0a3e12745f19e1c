package import Base
internal import JSON
package import ProviderAPI
package import Stores
package import Subscriptions
package import Tiers

/// Reads from Stripe's API what deliveries did not tell, or told in contradictions.
///
/// Reads what it is asked, and does what operators order. Every call blocks; the transport bounds each request in time and size, and here
/// each answer is bounded in requests. Any thread may call it. https://docs.stripe.com/api
package struct StripeAPI: Sendable {
  /// The shape of what is read, whatever the account's own version is: the first that tells why a
  /// subscription is paused is 2026-09-30.
  package static let version = "2026-10-28.endive"
  /// The shape of what is asked for, which later versions took from.
  package static let orderVersion = "2025-03-31.basil"
  package static let standardBase = "https://api.stripe.com"

  let base: String
  let key: Secret
  package let environment: StoreEnvironment
  let transport: any ProviderTransport

  /// `base` is without a slash at its end; `key` belongs to the environment.
  package init(
    base: String = StripeAPI.standardBase, key: Secret, environment: StoreEnvironment,
    transport: any ProviderTransport
  ) {
    self.base = base
    self.key = key
    self.environment = environment
    self.transport = transport
  }

  /// The subscription with all that its coverage and owner follow from.
  ///
  /// That is its customer where deleted, its checkout sessions and invoices, their payments, and the
  /// refunds and disputes of those. About 30 requests for a monthly one, two more for each payment.
  package func record(of subscription: String) throws(APIFailure) -> StripeAnswer {
    var reading = StripeReading(self)
    try reading.readRecord(of: subscription)
    return reading.answer
  }

  /// An object that somebody named, and the records of the subscriptions that it is about.
  ///
  /// Of a kind without a subscription, such as a payment for something else, the object alone.
  package func records(about key: ObjectKey) throws(APIFailure) -> StripeAnswer {
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
  /// The subscription and all that hangs on it.
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

  /// Whose subscription a refund, a dispute or a charge concerns, and all of that.
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

/// What a read found, with what the provider said word for word.
package struct StripeAnswer: Sendable {
  package fileprivate(set) var facts: [Fact] = []
  package private(set) var terms: [SearchTerm] = []
  package fileprivate(set) var notes: Set<StripeEvent.Note> = []
  /// No object is older than that: the read settles what happened before.
  package fileprivate(set) var began: Instant?
  /// Every answer as received, in a JSON array with its request's target and its as-of interval.
  package var transcript: [UInt8] {
    Array("[".utf8) + parts.joined(separator: Array(",".utf8)) + Array("]".utf8)
  }

  fileprivate var parts: [[UInt8]] = []

  mutating func add(_ decoder: ObjectDecoder) {
    facts += decoder.facts
    notes.formUnion(decoder.notes)
  }

  mutating func add(_ target: String, _ body: [UInt8], _ asOf: AsOf) {
    began = min(began ?? asOf.from, asOf.from)
    let head: JSONValue = [
      "target": .string(target), "from": .integer(asOf.from.milliseconds),
      "to": .integer(asOf.to.milliseconds),
    ]
    parts.append(head.encoded().dropLast() + Array(",\"answer\":".utf8) + body + Array("}".utf8))
  }

  mutating func add(_ terms: [SearchTerm]) { self.terms += terms }

  mutating func note(_ note: StripeEvent.Note) { notes.insert(note) }
}
