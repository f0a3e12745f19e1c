package import Base
package import JSON
package import Subscriptions
package import Tiers

/// The content of a verified delivery or of a provider's answer, in one shape for every provider.
package struct DecodedDelivery: Sendable {
  package let provider: ObjectKey.Provider
  /// Nil if it could not be read.
  package let environment: StoreEnvironment?
  /// The provider's id of the delivery, the same at every retry.
  package let deliveryID: String
  package let type: String
  package let apiVersion: String?
  /// The provider's id of the object that the delivery is about.
  package let object: String?
  package let created: Instant?
  package let facts: [Fact]
  /// Objects to read again, and why.
  package let requests: [ReadRequest]
  /// The store's question to us before it decides on a refund.
  package let refundQuestion: RefundQuestion?
  /// Terms by which its objects can be found, in addition to their ids.
  package let terms: [SearchTerm]
  /// What the decoder noticed, as metrics labels.
  package let notes: Set<String>
  package let disposition: Disposition
  /// Whether it answers a request of ours.
  package let isAnswer: Bool
  /// Equal for deliveries with the same meaning, apart from their facts.
  package let meaning: JSONValue

  /// How a delivery's objects were handled.
  package enum Disposition: String, Sendable, CaseIterable {
    /// Merged into the mirrors.
    case joined
    /// Stored only: billing does not mirror it, or it is only a reason to read again.
    case recorded
    /// Belongs to a connected account or another app, not to us.
    case foreign
    /// Dated after its own arrival: stored, not merged, and to be read again.
    case premature
    /// Signed but not readable. Raises an alarm, because a repaired decoder can still read it.
    case undecodable
  }

  package init(
    provider: ObjectKey.Provider, environment: StoreEnvironment?, deliveryID: String,
    type: String, apiVersion: String? = nil, object: String? = nil, created: Instant? = nil,
    facts: [Fact] = [], requests: [ReadRequest] = [],
    refundQuestion: RefundQuestion? = nil, terms: [SearchTerm] = [],
    notes: Set<String> = [], disposition: Disposition, isAnswer: Bool = false, meaning: JSONValue
  ) {
    self.provider = provider
    self.environment = environment
    self.deliveryID = deliveryID
    self.type = type
    self.apiVersion = apiVersion
    self.object = object
    self.created = created
    self.facts = Self.newest(facts)
    self.requests = requests
    self.refundQuestion = refundQuestion
    self.terms = terms
    self.notes = notes
    self.disposition = disposition
    self.isAnswer = isAnswer
    self.meaning = meaning
  }

  /// Keeps the last value of each object: one answer may show an object twice, read a moment apart.
  private static func newest(_ facts: [Fact]) -> [Fact] {
    var places: [ObjectKey: Int] = [:]
    var newest: [Fact] = []
    for fact in facts {
      guard let place = places[fact.key] else {
        places[fact.key] = newest.count
        newest.append(fact)
        continue
      }
      let known = newest[place]
      if (fact.object.rank, fact.asOf.to) >= (known.object.rank, known.asOf.to) {
        newest[place] = fact
      }
    }
    return newest
  }

  /// Without this limit one bogus timestamp would outdate every true one.
  private static let clockDifferenceMax = Instant.Span.minutes(5)

  /// Whether facts of that time are too far in the future to be merged when they arrive at `received`.
  package static func isPremature(_ asOf: AsOf, received: Instant) -> Bool {
    asOf.from > received + clockDifferenceMax
  }

  /// The moment, by the store's clock, before which a read must not have begun, however far in the future the
  /// facts are dated.
  package func settledBy(received: Instant) -> Instant? {
    facts.map { $0.asOf.to }.max().map { min($0, received + Self.clockDifferenceMax) }
  }

  /// The reads that are needed because of how the facts were merged. There are none after an answer: another
  /// read would leave the same questions open.
  ///
  /// `unexplained` are subscriptions about which the facts say something unknown. `dangling` are facts that
  /// would change a subscription, but no known one.
  package func unsettled(
    _ dirty: [ObjectKey], unexplained: [ObjectKey],
    unknown: [(subscription: ObjectKey, object: ObjectKey)],
    dangling: [Fact]
  ) -> [ReadRequest] {
    guard !isAnswer else { return [] }
    return dirty.map { ReadRequest($0, reason: "contradiction") }
      + unexplained.map { ReadRequest($0, reason: "unknown_status") }
      + unknown.map { .unknown($0.object, of: $0.subscription) }
      + dangling.compactMap(\.searched).map { ReadRequest($0, reason: "dangling") }
  }
}
