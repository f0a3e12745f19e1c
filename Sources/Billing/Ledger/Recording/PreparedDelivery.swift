package import Base
package import Crypto
import JSON
package import Storage
package import Stores
package import Subscriptions
import Tiers

/// A verified delivery or answer, after everything that needs no database.
package struct PreparedDelivery: Sendable {
  package let decoded: DecodedDelivery
  package let received: Instant
  /// Equal for deliveries with the same meaning, however they were signed, counted or rendered.
  let fingerprint: [UInt8]
  /// The message that came, as `KeptDelivery` reads it.
  let sealed: [UInt8]
  /// The requests' secrets, sealed for the jobs that need them.
  package let requestPayloads: [[UInt8]?]
  /// The refund question's secret, sealed for the job that answers it.
  let questionPayload: [UInt8]?
  /// The stored form of each fact's content.
  let contents: [String]
  /// The terms by which the objects that it is about are found.
  let terms: [SearchRow]
  /// The proof of its sender; nil if no one sent it to us.
  let proof: String?
  /// Why it cannot be read; nil if it can.
  let error: String?
  /// The trace of the request that brought it, which continues in the jobs that it requests.
  let trace: TraceContext?

  /// Its approximate size in the database.
  package var byteCount: Int { sealed.count }

  /// `head` and `body` are what came; neither is stored in clear. Without a search key nothing
  /// personal can be found.
  package init(
    _ decoded: DecodedDelivery, of store: any Store, received: Instant, head: [UInt8],
    body: [UInt8], sealing: SealingKeys, search: SearchKey? = nil, proof: String? = nil,
    error: String? = nil, trace: TraceContext? = nil
  ) {
    self.decoded = decoded
    self.received = received
    self.proof = proof
    self.error = error
    self.trace = trace
    terms = SearchRow.all(decoded.terms, search)
    contents = decoded.facts.map { store.stored($0.object) }
    func payload(_ secret: Secret?, for object: ObjectKey) -> [UInt8]? {
      secret.map { sealing.seal($0.exposed, context: Self.payloadContext(object)) }
    }
    requestPayloads = decoded.requests.map { payload($0.secret, for: $0.object) }
    questionPayload = decoded.refundQuestion.flatMap { payload($0.secret, for: $0.payment) }
    fingerprint = SHA256.hash(decoded.meaning.encoded() + contents.flatMap { Array($0.utf8) })
    sealed = KeptDelivery.sealed(
      head: head, body: body, of: store, deliveryID: decoded.deliveryID, sealing)
  }

  /// A delivery that a webhook received. If a signed body cannot be read and has no id of its own,
  /// its digest names the delivery, so that a retry is a duplicate.
  package init(
    _ delivery: Delivery, of store: any Store, received: Instant, body: [UInt8],
    sealing: SealingKeys, search: SearchKey? = nil, trace: TraceContext? = nil
  ) {
    let decoded: DecodedDelivery
    var error: String?
    switch delivery.content {
    case .decoded(let content): decoded = content
    case .undecodable(let id, let type, let why, let requests):
      let digest = Hex.encode(SHA256.hash(body))
      decoded = DecodedDelivery(
        provider: store.provider, environment: nil, deliveryID: id ?? "sha256:" + digest,
        type: type ?? "unknown", object: requests.first?.object.id, requests: requests,
        disposition: .undecodable, meaning: ["body": .string(digest)])
      error = why
    }
    self.init(
      decoded, of: store, received: received, head: delivery.head, body: body, sealing: sealing,
      search: search, proof: delivery.proof, error: error, trace: trace)
  }

  /// Whether its store reported it before, with any content.
  package func isKnown(reading database: some Queryable) throws -> Bool {
    try database.first(
      """
      SELECT 1 FROM billing.deliveries WHERE provider = $1 AND environment = $2
        AND delivery_id = $3 LIMIT 1
      """, .text(decoded.provider.rawValue), .text(decoded.environment?.rawValue ?? "unknown"),
      .text(decoded.deliveryID)
    ) { row in try row.integer(0) } != nil
  }

  /// Binds a job's payload to the object it is about.
  package static func payloadContext(_ object: ObjectKey) -> [UInt8] {
    Array("payload|\(object)".utf8)
  }
}
