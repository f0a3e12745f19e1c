import Base
package import Storage
package import Stores
package import Subscriptions

/// The stored objects and the links between them, in the terms of their stores.
package struct LedgerReading: LinkReader {
  package let stores: StoreList
  package let database: any Queryable
  package let memory: LedgerMemory

  package func origins(of kind: Link.Kind, to target: ObjectKey) throws -> [ObjectKey] {
    try database.rows(
      "SELECT origin FROM billing.links WHERE target = $1 AND kind = $2 ORDER BY origin",
      .text(target.description), .text(kind.rawValue)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
  }

  /// More are linked to one object only by mistake or malice.
  private static let bridgedCountMax = 1000

  package func bridged(to key: ObjectKey) throws -> [Fact] {
    let objects = try reach(from: key, parts: false, countMax: Self.bridgedCountMax)
    return try mirrors(of: objects).map(\.fact)
  }

  /// An object and everything that is linked to it by bridges, at any distance. With `parts`, it
  /// includes the parts of them all. At most about `countMax`.
  package func reach(from key: ObjectKey, parts: Bool, countMax: Int = .max) throws -> [ObjectKey] {
    var objects = [key]
    var seen: Set<ObjectKey> = [key]
    var open: Set<ObjectKey> = [key]
    var next = [key]
    while !next.isEmpty, objects.count < countMax {
      let origins = try self.origins(of: next)
      next = []
      for (origin, kind) in origins where parts || kind == .bridge {
        if seen.insert(origin).inserted { objects.append(origin) }
        if kind == .bridge, open.insert(origin).inserted { next.append(origin) }
      }
    }
    return objects
  }

  /// The objects that are linked to any of these from below.
  private func origins(of targets: [ObjectKey]) throws -> [(ObjectKey, Link.Kind)] {
    try SQLList.slices(of: targets.map { .text($0.description) }, after: 0).flatMap { list in
      try database.rows(
        """
        SELECT origin, kind FROM billing.links
        WHERE target IN (\(list.parameters)) AND kind <> 'predecessor'
        """, values: list.values
      ) { row -> (ObjectKey, Link.Kind)? in
        guard let key = ObjectKey(try row.text(0)), let kind = Link.Kind(rawValue: try row.text(1))
        else { return nil }
        return (key, kind)
      }.compactMap { $0 }
    }
  }

  /// The owners of those subscriptions that have one.
  func owners(of keys: Set<ObjectKey>) throws -> [ObjectKey: Identifier] {
    var owners: [ObjectKey: Identifier] = [:]
    for list in SQLList.slices(of: keys.map { .text($0.description) }, after: 0) {
      let rows = try database.rows(
        """
        SELECT object, owner FROM billing.subscriptions
        WHERE object IN (\(list.parameters)) AND owner IS NOT NULL
        """, values: list.values
      ) { row in (ObjectKey(try row.text(0)), try row.optionalID(1)) }
      for case (let key?, let owner?) in rows { owners[key] = owner }
    }
    return owners
  }

  /// The most parts of an object that a read gets, newest first.
  private static let partCountMax = 16

  /// The reasons and parts that a read of the object may need to know.
  package func known(of key: ObjectKey) throws -> StoreRead.Known {
    StoreRead.Known(
      reasons: try database.rows(
        "SELECT DISTINCT reason FROM billing.read_requests WHERE object = $1 ORDER BY reason",
        .text(key.description)
      ) { row in try row.text(0) },
      parts: try parts(of: key, limit: Self.partCountMax))
  }

  /// The parts of an object, newest first.
  func parts(of key: ObjectKey, limit: Int) throws -> [ObjectKey] {
    try database.rows(
      """
      SELECT origin FROM billing.links WHERE target = $1 AND kind = 'part'
      ORDER BY delivery DESC, origin LIMIT $2
      """, .text(key.description), .integer(Int64(limit))
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
  }
}

extension LedgerReading {
  /// For a transaction that may have decided something, or one that only reads.
  package init(of stores: StoreList, database: any Queryable) {
    self.init(stores: stores, database: database, memory: LedgerMemory(followsDecision: true))
  }
}

extension Ledger {
  package func reading(_ database: any Queryable) -> LedgerReading {
    LedgerReading(of: stores, database: database)
  }

  /// For a transaction that decides nothing itself.
  func readingFacts(_ transaction: Transaction) -> LedgerReading {
    LedgerReading(
      stores: stores, database: transaction, memory: LedgerMemory(followsDecision: false))
  }
}
