package import Base
package import Crypto
internal import JSON
package import Subscriptions

/// A verified delivery or answer with everything done that needs no database.
package struct PreparedSource: Sendable {
  let decoded: DecodedSource
  let received: Instant
  /// Equal for deliveries that mean the same, however they were signed, counted or rendered.
  let fingerprint: [UInt8]
  /// What came, in the form of an HTTP message, sealed.
  let sealed: [UInt8]
  /// The hints' secrets, sealed for the jobs that need them.
  let hintPayloads: [[UInt8]?]
  /// What each fact's content is stored as.
  let contents: [String]

  /// `head` and `body` are what came; neither is kept in clear.
  package init(
    _ decoded: DecodedSource, received: Instant, head: [UInt8], body: [UInt8],
    sealing: SealingKeys
  ) {
    self.decoded = decoded
    self.received = received
    contents = decoded.facts.map { $0.object.stored }
    hintPayloads = decoded.hints.map { hint in
      hint.secret.map { sealing.seal($0.exposed, context: Self.payloadContext(hint.object)) }
    }
    fingerprint = SHA256.hash(
      decoded.meaning.encoded() + contents.flatMap { Array($0.utf8) })
    sealed = sealing.seal(
      head + Array("\r\n\r\n".utf8) + body,
      context: Self.sealingContext(
        provider: decoded.provider.rawValue, deliveryID: decoded.deliveryID))
  }

  /// A signed body that cannot be read. Without an id of its own its digest names the delivery, so
  /// that a retry is a duplicate.
  package init(
    undecodable id: String?, _ why: String, from provider: ObjectKey.Provider, received: Instant,
    head: [UInt8], body: [UInt8], sealing: SealingKeys
  ) {
    let digest = Hex.encode(SHA256.hash(body))
    self.init(
      DecodedSource(
        provider: provider, partition: nil, deliveryID: id ?? "sha256:" + digest,
        type: "undecodable: \(why)", disposition: .undecodable,
        meaning: ["body": .string(digest)]),
      received: received, head: head, body: body, sealing: sealing)
  }

  /// Binds a sealed body to its row, so that rows cannot be swapped.
  static func sealingContext(provider: String, deliveryID: String) -> [UInt8] {
    Array("\(provider)|\(deliveryID)".utf8)
  }

  /// Binds a job's payload to the object it is about.
  static func payloadContext(_ object: ObjectKey) -> [UInt8] {
    Array("payload|\(object)".utf8)
  }
}
