package import Base
internal import JSON
package import ProviderAPI
package import Subscriptions

/// Reads from Stripe's API what deliveries did not tell, or told in contradictions.
///
/// It only reads. Every call blocks; the transport bounds each request in time and size, and here
/// each answer is bounded in requests. Any thread may call it. https://docs.stripe.com/api
package struct StripeAPI: Sendable {
  /// The shape of every answer, whatever the account's own version is.
  package static let version = "2025-03-31.basil"
  package static let standardBase = "https://api.stripe.com"

  let base: String
  let key: Secret
  package let partition: ObjectKey.Partition
  let transport: any ProviderTransport

  /// `base` is without a slash at its end; `key` belongs to the partition's mode.
  package init(
    base: String = StripeAPI.standardBase, key: Secret, partition: ObjectKey.Partition,
    transport: any ProviderTransport
  ) {
    self.base = base
    self.key = key
    self.partition = partition
    self.transport = transport
  }

  /// The subscription with all that its coverage and owner follow from.
  ///
  /// That is its customer where deleted, its checkout sessions and invoices, their payments, and the
  /// refunds and disputes of those. About 30 requests for a monthly one, two more for each payment.
  package func closure(of subscription: String) throws(APIFailure) -> StripeAnswer {
    var reading = StripeReading(self)
    let object = try reading.read("/v1/subscriptions/\(encoded(subscription))")
    guard object["livemode"].bool == (partition == .live) else {
      throw .misconfigured("the key is of the other mode than the subscription")
    }
    do {
      try reading.readRest(of: subscription, customer: object["customer"].reference)
    } catch .notFound {
      throw .refused(status: 404, "an object that the subscription names is not there")
    }
    return reading.answer
  }

  /// The invoices that a payment went to: whose subscription a refund or a dispute concerns.
  ///
  /// `payment` is the id of a payment intent or of a charge. Empty for a payment of something else.
  package func invoices(paidBy payment: String) throws(APIFailure) -> StripeAnswer {
    var reading = StripeReading(self)
    var (kind, id) = ("payment_intent", payment)
    if !payment.hasPrefix("pi_") {
      let charge = try reading.read("/v1/charges/\(encoded(payment))")
      if let intent = charge["payment_intent"].reference {
        id = intent
      } else {
        kind = "charge"
      }
    }
    let payments = try reading.list(
      "/v1/invoice_payments", [("payment[type]", kind), ("payment[\(kind)]", id)])
    for invoice in Set(payments.compactMap { $0["invoice"].reference }).sorted() {
      try reading.read("/v1/invoices/\(encoded(invoice))")
    }
    return reading.answer
  }
}

/// What a read found, with what the provider said word for word.
package struct StripeAnswer: Sendable {
  package fileprivate(set) var facts: [Fact] = []
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

  mutating func note(_ note: StripeEvent.Note) { notes.insert(note) }
}
