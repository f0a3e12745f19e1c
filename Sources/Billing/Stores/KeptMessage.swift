package import Base
import JSON
package import Subscriptions
package import Tiers

/// A stored delivery, opened to be decoded again. Its sender was verified when it arrived.
package struct KeptMessage: Sendable {
  package let deliveryID: String
  /// Nil if it could not be read.
  package let environment: StoreEnvironment?
  package let received: Instant
  /// Whether it was about an account, app or shop other than ours.
  package let isForeign: Bool
  /// The body as it arrived; for an answer, the transcript.
  package let body: [UInt8]

  package init(
    deliveryID: String, environment: StoreEnvironment?, received: Instant, isForeign: Bool,
    body: [UInt8]
  ) {
    self.deliveryID = deliveryID
    self.environment = environment
    self.received = received
    self.isForeign = isForeign
    self.body = body
  }

  /// A larger number is made up: no object is read that often, and the next number must fit, too.
  private static let readNumberMax: Int64 = 1 << 53

  /// The object and the number of the read that this answers; nil if it is not an answer.
  package var read: (key: ObjectKey, readNumber: Int64)? {
    guard deliveryID.hasPrefix("read:"), let colon = deliveryID.lastIndex(of: ":"),
      let number = Int64(deliveryID[deliveryID.index(after: colon)...]),
      (1...Self.readNumberMax).contains(number),
      let key = ObjectKey(String(deliveryID[..<colon].dropFirst("read:".count)))
    else { return nil }
    return (key, number)
  }
}

extension Store {
  /// The delivery as today's decoder reads it; throws if it cannot.
  package func decoded(again kept: KeptMessage) throws -> DecodedDelivery {
    guard let (key, readNumber) = kept.read else { return try delivered(again: kept) }
    guard key.provider == provider else {
      throw JSONError(code: .wrongType, message: "answers a read of another store")
    }
    return DecodedDelivery(
      try answered(again: kept, to: key, readNumber: readNumber), to: readNumber, of: key)
  }
}

extension DecodedDelivery {
  /// The result of a read. Its number distinguishes it from every other read of the object.
  package init(_ answer: StoreAnswer, to readNumber: Int64, of key: ObjectKey) {
    self.init(
      provider: key.provider, environment: key.environment,
      deliveryID: Self.answerID(to: readNumber, of: key), type: "read", object: key.id,
      facts: answer.facts, requests: answer.requests, terms: answer.terms, notes: answer.notes,
      disposition: .joined, isAnswer: true, meaning: ["read": .integer(readNumber)])
  }

  /// The delivery id under which the answer to a read is stored.
  package static func answerID(to readNumber: Int64, of key: ObjectKey) -> String {
    "read:\(key):\(readNumber)"
  }
}
