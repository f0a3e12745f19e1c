import Stores
package import Subscriptions

/// The subscriptions that a fact can change, found by its links.
package struct Affected {
  private var keys: Set<ObjectKey> = []
  private let reading: LedgerReading

  /// More continue one purchase only by mistake or malice.
  private static let countMax = 1000

  /// The subscriptions that facts can change, ascending. It reads links, so the facts' own links
  /// must be written already.
  package static func subscriptions(by facts: [Fact], _ reading: LedgerReading) throws
    -> [ObjectKey]
  {
    var affected = Affected(reading)
    for fact in facts {
      let store = try reading.stores.store(of: fact.key)
      for key in try store.subscriptions(changedBy: fact, reading) {
        try affected.addWithSuccessors(key)
      }
    }
    return affected.keys.sorted()
  }

  /// The number of facts that suffice to show what a delivery is about that changes nothing.
  private static let spokenOfCountMax = 4

  /// The subscriptions that facts are about: those among the facts, which need no statement;
  /// otherwise, those that the first facts belong to.
  static func few(of facts: [Fact], _ reading: LedgerReading) throws -> [ObjectKey] {
    let own = try facts.filter { fact in
      try fact.key.kind == reading.stores.store(of: fact.key).traits.subscriptionKind
    }
    let first = facts.prefix(spokenOfCountMax)
    return try own.isEmpty ? subscriptions(by: Array(first), reading) : own.map(\.key)
  }

  /// A subscription and all that continue it, as their owner may be its own.
  package static func subscriptions(from key: ObjectKey, _ reading: LedgerReading) throws
    -> [ObjectKey]
  {
    var affected = Affected(reading)
    try affected.addWithSuccessors(key)
    return affected.keys.sorted()
  }

  /// The objects to read for a read about an object: the subscriptions that it is known to belong
  /// to; otherwise, itself.
  static func read(about key: ObjectKey, _ reading: LedgerReading) throws -> [ObjectKey] {
    let store = try reading.stores.store(of: key)
    guard key.kind != store.traits.subscriptionKind else { return [key] }
    let keys = try subscriptions(by: try reading.mirrors(of: key).map { $0.fact }, reading)
    return keys.isEmpty ? [key] : keys
  }

  private init(_ reading: LedgerReading) { self.reading = reading }

  private mutating func addWithSuccessors(_ key: ObjectKey) throws {
    guard keys.count < Self.countMax, keys.insert(key).inserted,
      try reading.stores.store(of: key).traits.hasSuccessors
    else { return }
    for newer in try reading.origins(of: .successor, to: key) { try addWithSuccessors(newer) }
  }
}
