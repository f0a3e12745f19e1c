/// One provider object as a source shows it: whole, and with a place in its lifecycle.
package protocol Mirrored: Hashable, Sendable {
  /// Grows along the lifecycle and never falls; equal where states may follow in either order.
  var rank: Int { get }
}

/// What all sources together say about one object: every value that none other outdates.
///
/// A join-semilattice: merging is commutative, associative and idempotent, so arrival order and
/// duplicates cannot matter. A single newest value plus a tie flag would not be associative.
package struct Mirror<Content: Mirrored>: Hashable, Sendable {
  package struct Observation: Hashable, Sendable {
    package let content: Content
    package let asOf: AsOf

    package init(_ content: Content, asOf: AsOf) {
      self.content = content
      self.asOf = asOf
    }

    /// Whether `other` makes this one obsolete: rank first, as a lifecycle cannot go back.
    func isOutdated(by other: Observation) -> Bool {
      content.rank < other.content.rank
        || content.rank == other.content.rank && asOf.isBefore(other.asOf)
    }
  }

  /// The maximal observations, each with the lowest id of the sources that showed it.
  package private(set) var observations: [Observation: Int64] = [:]

  package init() {}

  package var isEmpty: Bool { observations.isEmpty }

  /// Maximal values that disagree: to be settled by reading the provider again.
  package var isDirty: Bool { contents.count > 1 }

  /// The distinct contents among the maximal observations.
  package var contents: Set<Content> { Set(observations.keys.map(\.content)) }

  @discardableResult
  package mutating func insert(_ observation: Observation, source: Int64) -> MirrorChange {
    var change = MirrorChange()
    if let known = observations[observation] {
      observations[observation] = min(known, source)
      return change
    }
    change.rankFell = observations.keys.contains {
      observation.content.rank < $0.content.rank && $0.asOf.isBefore(observation.asOf)
    }
    if observations.keys.contains(where: { observation.isOutdated(by: $0) }) { return change }
    change.outdated = observations.filter { $0.key.isOutdated(by: observation) }.map(\.value)
    observations = observations.filter { !$0.key.isOutdated(by: observation) }
    observations[observation] = source
    change.isNew = true
    return change
  }

  package mutating func merge(_ other: Mirror) {
    for (observation, source) in other.observations { insert(observation, source: source) }
  }
}

/// What inserting one observation into a mirror did.
package struct MirrorChange: Hashable, Sendable {
  /// Whether the observation is now among the maximal ones and was not before.
  package var isNew = false
  /// The sources of the observations it made obsolete.
  package var outdated: [Int64] = []
  /// A later observation of a lower rank: the provider's lifecycle went back, which is an alarm.
  package var rankFell = false
}
