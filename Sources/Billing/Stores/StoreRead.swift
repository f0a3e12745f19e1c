package import Base
package import ProviderAPI
package import Subscriptions

/// What to read of a store, and what is known that a reader may need.
package struct StoreRead: Sendable {
  package let key: ObjectKey
  /// The number of the read, ascending for each object.
  package let readNumber: Int64
  /// What deliveries told of the object and rows may not hold in clear; nil where none did.
  package let secret: Secret?
  /// Whether the newest `StoreTraits.partsRead` parts that are known were compared with the store just
  /// now, and need not be read.
  package let isShallow: Bool
  private let known: @Sendable () throws -> Known

  /// What earlier deliveries and reads said of the object.
  package struct Known: Sendable {
    /// Why reads of it were asked for.
    package let reasons: [String]
    /// What belongs to it, the newest first.
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

  /// Asks the database.
  package func readKnown() throws(APIFailure) -> Known {
    do { return try known() } catch { throw .transient("\(error)", retryAfter: nil) }
  }
}

/// What a store answered.
package struct StoreAnswer: Sendable {
  package let facts: [Fact]
  /// Objects to read as well.
  package let requests: [ReadRequest]
  /// What the objects may be looked for by, beside their ids.
  package let terms: [SearchTerm]
  package let notes: Set<String>
  /// Nothing in it was read before that, by the store's clock; nil where it tells none.
  package let began: Instant?
  /// Every answer as received, without secrets.
  package let transcript: [UInt8]

  package init(
    facts: [Fact], requests: [ReadRequest] = [], terms: [SearchTerm] = [],
    notes: Set<String>, began: Instant?, transcript: [UInt8]
  ) {
    self.facts = facts
    self.requests = requests
    self.terms = terms
    self.notes = notes
    self.began = began
    self.transcript = transcript
  }
}
