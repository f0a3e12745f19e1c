internal import Base
package import Crypto
internal import JSON
package import Stripe
internal import Subscriptions

/// A verified delivery with everything done that needs no database: decoded, sealed, digested.
package struct PreparedSource: Sendable {
  let provider: String
  let realm: String
  let deliveryID: String
  /// Equal for deliveries that mean the same, however they were signed, counted or rendered.
  let fingerprint: [UInt8]
  let type: String
  let apiVersion: String?
  /// The provider's id of the object it speaks of.
  let object: String?
  let created: Instant?
  let received: Instant
  let disposition: Disposition
  let sealed: [UInt8]
  let fact: Fact?
  /// The fact's content as a mirror's row holds it.
  let content: String
  let notes: Set<StripeEvent.Note>

  /// What became of a delivery's objects.
  package enum Disposition: String, Sendable, CaseIterable {
    /// Merged into its mirror.
    case joined
    /// Kept only: of no kind or connection that billing mirrors.
    case recorded
    /// Of a connected account, not ours.
    case foreign
    /// Dated after its own arrival: kept, not merged, to be read again.
    case premature
    /// Signed but not readable; an alarm, since a repaired decoder can still read it.
    case undecodable
  }

  /// Beyond it one bogus stamp would outdate every true one.
  private static let clockDifferenceMax = Instant.Span.minutes(5)

  /// Throws only for a thin event, which carries nothing to record.
  package init(
    _ delivery: VerifiedDelivery, sealing: SealingKeys
  ) throws(StripeEventError) {
    do {
      try self.init(StripeEvent(delivery), delivery, sealing)
    } catch .undecodable(let id, let error) {
      self.init(undecodable: id, error, delivery, sealing)
    }
  }

  private init(_ event: StripeEvent, _ delivery: VerifiedDelivery, _ sealing: SealingKeys) {
    let content = event.facts.first?.stripe?.stored().encoded() ?? []
    provider = "stripe"
    realm = event.partition.rawValue
    deliveryID = event.id
    fingerprint = Self.fingerprint(of: event, content: content)
    type = event.type
    apiVersion = event.apiVersion
    object = event.objectID
    created = event.created
    received = delivery.receivedAt
    disposition = Self.disposition(of: event, received: delivery.receivedAt)
    sealed = Self.sealed(delivery, id: event.id, sealing)
    fact = event.facts.first
    self.content = String(decoding: content, as: UTF8.self)
    notes = event.notes
  }

  /// Without an event id the body's digest names the delivery, so that a retry is a duplicate.
  private init(
    undecodable id: String?, _ error: JSONError, _ delivery: VerifiedDelivery,
    _ sealing: SealingKeys
  ) {
    let digest = SHA256.hash(delivery.body)
    let id = id ?? "sha256:" + Hex.encode(digest)
    provider = "stripe"
    realm = "unknown"
    deliveryID = id
    fingerprint = digest
    type = "undecodable: \(error)"
    apiVersion = nil
    object = nil
    created = nil
    received = delivery.receivedAt
    disposition = .undecodable
    sealed = Self.sealed(delivery, id: id, sealing)
    fact = nil
    content = ""
    notes = []
  }

  private static func disposition(of event: StripeEvent, received: Instant) -> Disposition {
    if event.connectedAccount != nil { return .foreign }
    guard let fact = event.facts.first else { return .recorded }
    switch fact.stripe {
    case .subscription, .customer, .invoice, .checkoutSession: break
    case .invoicePayment, .charge, .refund, .dispute, nil: return .recorded
    }
    return fact.asOf.from > received + clockDifferenceMax ? .premature : .joined
  }

  private static func fingerprint(of event: StripeEvent, content: [UInt8]) -> [UInt8] {
    let meaning: JSONValue = [
      "type": .string(event.type), "created": .integer(event.created.milliseconds),
      "account": event.connectedAccount.map { .string($0) } ?? .null,
      "object": event.objectID.map { .string($0) } ?? .null,
    ]
    return SHA256.hash(meaning.encoded() + content)
  }

  /// The signature header and the body as received, in the form of an HTTP message.
  private static func sealed(
    _ delivery: VerifiedDelivery, id: String, _ sealing: SealingKeys
  ) -> [UInt8] {
    let plain =
      Array("Stripe-Signature: ".utf8) + delivery.signature + Array("\r\n\r\n".utf8)
      + delivery.body
    return sealing.seal(plain, context: sealingContext(provider: "stripe", deliveryID: id))
  }

  /// Binds a sealed body to its row, so that rows cannot be swapped.
  static func sealingContext(provider: String, deliveryID: String) -> [UInt8] {
    Array("\(provider)|\(deliveryID)".utf8)
  }
}
