package import Base

/// A provider's object as one delivery shows it: complete, and with a place in its lifecycle.
package protocol Mirrored: Hashable, Sendable {
  /// Grows along the lifecycle and never falls. It is equal for states that may follow in either order, so
  /// for all states unless the type says otherwise.
  var rank: Int { get }
}

extension Mirrored {
  package var rank: Int { 0 }
}

/// The result of all deliveries about one object: every value that no other outdates.
///
/// A join-semilattice, so arrival order and duplicates cannot matter. A single newest value plus a tie
/// flag would not be associative.
package struct Mirror<Content: Mirrored>: Hashable, Sendable {
  package struct Observation: Hashable, Sendable {
    package let content: Content
    package let asOf: AsOf

    package init(_ content: Content, asOf: AsOf) {
      self.content = content
      self.asOf = asOf
    }

    /// Whether `other` makes this one obsolete. Rank comes first, as a lifecycle cannot go back.
    func isOutdated(by other: Observation) -> Bool {
      content.rank < other.content.rank
        || content.rank == other.content.rank && asOf.isBefore(other.asOf)
    }
  }

  /// A maximal observation, and the lowest id of the deliveries that showed it.
  package struct Entry: Hashable, Sendable {
    package let observation: Observation
    package let delivery: Int64
  }

  /// In the order of their deliveries, so that equal sets are equal arrays.
  package private(set) var entries: [Entry] = []

  package init() {}

  package var isEmpty: Bool { entries.isEmpty }

  /// Whether maximal values disagree, which only reading the provider again can settle.
  package var isDirty: Bool { entries.count > 1 && contents.count > 1 }

  /// The content of the only maximal observation; nil if there are several or none.
  package var only: Content? { entries.count == 1 ? entries[0].observation.content : nil }

  /// The distinct contents among the maximal observations.
  package var contents: [Content] {
    if let only { return [only] }
    var contents: [Content] = []
    for entry in entries where !contents.contains(entry.observation.content) {
      contents.append(entry.observation.content)
    }
    return contents
  }

  /// The earliest start among the maximal observations with this content.
  package func firstShown(_ content: Content) -> Instant? {
    entries.filter { $0.observation.content == content }.map { $0.observation.asOf.from }.min()
  }

  @discardableResult
  package mutating func insert(_ observation: Observation, delivery: Int64) -> MirrorChange {
    var change = MirrorChange()
    if let known = entries.firstIndex(where: { $0.observation == observation }) {
      guard delivery < entries[known].delivery else { return change }
      entries.remove(at: known)
    } else {
      change.rankFell = entries.contains {
        observation.content.rank < $0.observation.content.rank
          && $0.observation.asOf.isBefore(observation.asOf)
      }
      if entries.contains(where: { observation.isOutdated(by: $0.observation) }) { return change }
      for entry in entries where entry.observation.isOutdated(by: observation) {
        change.outdated.append(entry.delivery)
      }
      entries.removeAll { $0.observation.isOutdated(by: observation) }
      change.isNew = true
    }
    entries.append(Entry(observation: observation, delivery: delivery))
    entries.sort { $0.delivery < $1.delivery }
    return change
  }
}

/// The effect of inserting one observation into a mirror.
package struct MirrorChange: Sendable {
  /// Whether the observation is now among the maximal ones and was not before.
  package var isNew = false
  /// The deliveries of the observations that it made obsolete.
  package var outdated: [Int64] = []
  /// Whether a later observation has a lower rank: the provider's lifecycle went back, which is an alarm.
  package var rankFell = false
}
