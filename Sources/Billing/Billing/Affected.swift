internal import Storage
internal import Subscriptions

/// The subscriptions that a fact can change, found from what it is linked to.
struct Affected {
  private var keys: Set<ObjectKey> = []
  private let database: Transaction

  /// More than this are linked to one object only by mistake or malice.
  private static let countMax = 1000

  /// Reads links, so the facts' own must be written already. In ascending order.
  static func subscriptions(
    by facts: [Fact], reading transaction: Transaction
  ) throws -> [ObjectKey] {
    var affected = Affected(database: transaction)
    for fact in facts { try affected.add(fact) }
    return affected.keys.sorted()
  }

  /// A subscription and all that continue it, whose owner may be its own.
  static func subscriptions(
    from key: ObjectKey, reading transaction: Transaction
  ) throws -> [ObjectKey] {
    var affected = Affected(database: transaction)
    try affected.addWithSuccessors(key)
    return affected.keys.sorted()
  }

  /// What a read about an object reads: the subscriptions that it is known to be of, else itself.
  static func closures(of key: ObjectKey, reading transaction: Transaction) throws -> [ObjectKey] {
    guard key.provider == .stripe, key.kind != .subscription else { return [key] }
    let facts = try MirrorRow.all(of: key, reading: transaction).map { $0.fact }
    let keys = try subscriptions(by: facts, reading: transaction)
    return keys.isEmpty ? [key] : keys
  }

  private init(database: Transaction) { self.database = database }

  private mutating func add(_ fact: Fact) throws {
    switch fact.key.provider {
    case .stripe: try addStripe(fact)
    case .apple:
      for link in fact.links where link.kind == .part { try addWithSuccessors(link.target) }
    case .google:
      let purchase = fact.links.first { $0.kind == .part }?.target ?? fact.key
      try addWithSuccessors(purchase)
      // What it continues ends where it begins.
      keys.formUnion(try Link.origins(of: .predecessor, to: purchase, reading: database))
    }
  }

  private mutating func addWithSuccessors(_ key: ObjectKey) throws {
    guard keys.count < Self.countMax, keys.insert(key).inserted, key.provider != .stripe else {
      return
    }
    for newer in try Link.origins(of: .successor, to: key, reading: database) {
      try addWithSuccessors(newer)
    }
  }

  private mutating func addStripe(_ fact: Fact) throws {
    switch fact.key.kind {
    case .subscription: keys.insert(fact.key)
    case .customer:
      keys.formUnion(
        try Link.origins(of: .part, to: fact.key, reading: database)
          .filter { $0.kind == .subscription })
    default:
      let named = fact.links.filter { $0.origin == fact.key }.map { $0.target }
      keys.formUnion(named.filter { $0.kind == .subscription })
      for target in named where target.kind == .invoice || target.kind == .payment {
        for row in try invoices(near: target) {
          keys.formUnion(row.fact.links.map { $0.target }.filter { $0.kind == .subscription })
        }
      }
    }
  }

  /// An invoice, or those that a payment went to.
  private func invoices(near key: ObjectKey) throws -> [MirrorRow] {
    try database.rows(
      """
      WITH RECURSIVE near (object) AS (
        SELECT origin FROM billing.links WHERE target = $1 AND kind = 'bridge'
        UNION
        SELECT l.origin FROM near n JOIN billing.links l ON l.target = n.object
        WHERE l.kind = 'bridge')
      SELECT object, source_id, as_of_from_ms, as_of_to_ms, content
      FROM billing.mirrors WHERE object = $1
      UNION ALL
      SELECT m.object, m.source_id, m.as_of_from_ms, m.as_of_to_ms, m.content
      FROM near n JOIN billing.mirrors m ON m.object = n.object
      LIMIT $2
      """, .text(key.description), .integer(Self.countMax)
    ) { row in try MirrorRow(row) }.filter { $0.fact.key.kind == .invoice }
  }
}
