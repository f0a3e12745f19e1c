package import Base
package import JSON
package import ProviderAPI
package import Subscriptions

/// What to read from a store, and what is known that a reader may need.
package struct StoreRead: Sendable {
  package let key: ObjectKey
  /// The number of the read, ascending for each object.
  package let readNumber: Int64
  /// What deliveries reported of the object and rows must not hold in clear; nil if there is nothing.
  package let secret: Secret?
  /// Whether the newest `StoreTraits.partsRead` known parts were just compared, so that they need not be read.
  package let isShallow: Bool
  private let known: @Sendable () throws -> Known

  /// What earlier deliveries and reads said about the object.
  package struct Known: Sendable {
    /// The reasons for which reads of it were requested.
    package let reasons: [String]
    /// The objects that belong to it, newest first.
    package let parts: [ObjectKey]

    package init(reasons: [String], parts: [ObjectKey]) {
      self.reasons = reasons
      self.parts = parts
    }
  }

  package init(
    _ key: ObjectKey, readNumber: Int64, secret: Secret?, isShallow: Bool = false,
    known: @escaping @Sendable () throws -> Known
  ) {
    self.key = key
    self.readNumber = readNumber
    self.secret = secret
    self.isShallow = isShallow
    self.known = known
  }

  /// Reads it from the database.
  package func readKnown() throws(APIFailure) -> Known {
    do { return try known() } catch { throw .transient("\(error)", retryAfter: nil) }
  }
}

/// A store's answer to a read.
package struct StoreAnswer: Sendable {
  package var facts: [Fact]
  /// Further objects to read.
  package var requests: [ReadRequest]
  /// Terms by which the objects can be found, in addition to their ids.
  package var terms: [SearchTerm] = []
  package var notes: Set<String>
  /// The earliest moment at which any of it was read, by the store's clock; nil if the store gives no time.
  package var began: Instant?
  /// Every answer as received, without secrets, in a JSON array; each with what was asked.
  package private(set) var transcript: [UInt8]

  package init(
    facts: [Fact] = [], requests: [ReadRequest] = [], notes: Set<String> = [],
    transcript: [UInt8] = []
  ) {
    self.facts = facts
    self.requests = requests
    self.notes = notes
    self.transcript = transcript
  }

  /// Adds an answer word for word to the transcript; `asked` is a JSON object.
  package mutating func keep(_ answer: [UInt8], asked: JSONValue) {
    if transcript.isEmpty {
      transcript = Array("[".utf8)
    } else {
      transcript[transcript.count - 1] = UInt8(ascii: ",")
    }
    transcript += asked.encoded().dropLast()
    transcript += Array(",\"answer\":".utf8) + answer + Array("}]".utf8)
  }
}

extension APIReply {
  /// The body, which is a JSON object if the store answered.
  package func object(limits: JSONLimits = .standard) throws(APIFailure) -> JSON {
    try malformed { () throws(JSONError) in
      try JSON.parseForeign(body, limits: limits).requireObject()
    }
  }
}
