package import Base
internal import JSON
package import Subscriptions
package import Tiers

/// A kept delivery, opened to be decoded again; it was proven when it came.
package struct KeptMessage: Sendable {
  package let deliveryID: String
  /// Nil where that could not be read.
  package let environment: StoreEnvironment?
  package let received: Instant
  /// Whether it was about another account, app or shop than ours.
  package let isForeign: Bool
  /// As it came; of an answer the transcript.
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

  /// Beyond it a number was made up: nobody reads that often, and the next one must fit.
  private static let readNumberMax: Int64 = 1 << 53

  /// Whose answer it is to which read; nil of what was not asked for.
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
  /// What a kept delivery says to the decoder of today.
  ///
  /// Throws what the decoder does, for what it cannot read either.
  package func decoded(again kept: KeptMessage) throws -> DecodedDelivery {
    guard let (key, readNumber) = kept.read else { return try delivered(again: kept) }
    return DecodedDelivery(
      try answered(again: kept, to: key, readNumber: readNumber), to: readNumber, of: key)
  }
}

extension DecodedDelivery {
  /// What a read found; its number tells it from every other read of the object.
  package init(_ answer: StoreAnswer, to readNumber: Int64, of key: ObjectKey) {
    self.init(
      provider: key.provider, environment: key.environment,
      deliveryID: Self.answerID(to: readNumber, of: key), type: "read", object: key.id,
      facts: answer.facts, requests: answer.requests, terms: answer.terms, notes: answer.notes,
      disposition: .joined, isAnswer: true, meaning: ["read": .integer(readNumber)])
  }

  /// What the answer to a read is kept under.
  package static func answerID(to readNumber: Int64, of key: ObjectKey) -> String {
    "read:\(key):\(readNumber)"
  }
}
