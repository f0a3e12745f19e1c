package import Base
package import JSON
package import Subscriptions
package import Tiers

/// What a verified delivery or a provider's answer says, in one shape for every provider.
package struct DecodedDelivery: Sendable {
  package let provider: ObjectKey.Provider
  /// Nil where it could not be read.
  package let environment: StoreEnvironment?
  /// Names the delivery at its provider, the same at every retry.
  package let deliveryID: String
  package let type: String
  package let apiVersion: String?
  /// The provider's id of the object it speaks of.
  package let object: String?
  package let created: Instant?
  package let facts: [Fact]
  /// Objects to read again, and why.
  package let requests: [ReadRequest]
  /// What the store asks of us before it decides on a refund.
  package let refundQuestion: RefundQuestion?
  /// What the objects it speaks of may be looked for by, beside their ids.
  package let terms: [SearchTerm]
  /// What the decoder noticed, as metrics labels.
  package let notes: Set<String>
  package let disposition: Disposition
  /// Whether we asked for it.
  package let isAnswer: Bool
  /// Equal for deliveries that mean the same, beyond their facts.
  package let meaning: JSONValue

  /// What became of a delivery's objects.
  package enum Disposition: String, Sendable, CaseIterable {
    /// Merged into their mirrors.
    case joined
    /// Kept only: of no kind or connection that billing mirrors, or a reason to read again.
    case recorded
    /// Of a connected account or another app, not ours.
    case foreign
    /// Dated after its own arrival: kept, not merged, to be read again.
    case premature
    /// Signed but not readable; an alarm, since a repaired decoder can still read it.
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

  /// One answer may show an object twice, read a moment apart: what it showed last is what it says.
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

  /// Beyond it one bogus stamp would outdate every true one.
  private static let clockDifferenceMax = Instant.Span.minutes(5)

  /// Whether facts of that time may be merged when they arrive at `received`.
  package static func isPremature(_ asOf: AsOf, received: Instant) -> Bool {
    asOf.from > received + clockDifferenceMax
  }

  /// By the store's clock, the moment that a read must not have begun before.
  ///
  /// A stamp from the future must not have it read until then.
  package func settledBy(received: Instant) -> Instant? {
    facts.map { $0.asOf.to }.max().map { min($0, received + Self.clockDifferenceMax) }
  }

  /// What must be read because of how the facts were merged.
  ///
  /// After an answer nothing: what a read leaves unsettled another one would, too. One that began too
  /// early is repeated by its own job.
  ///
  /// `unexplained` are subscriptions of which they say something that is not known: one read for a delivery that
  /// says it first, of which the answer stands. `dangling` are facts that would change a subscription, of which none is known.
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
