package import Storage
import Stores
package import Subscriptions

/// A maximal value of one object, as stored.
package struct MirrorRow {
  package let fact: Fact
  package let delivery: Int64

  /// The columns that `init` reads, in its order.
  package static let columns = "object, delivery, as_of_from_ms, as_of_to_ms, content"

  init(_ fact: Fact, delivery: Int64) {
    self.fact = fact
    self.delivery = delivery
  }

  init(_ row: borrowing Row, of stores: StoreList) throws {
    guard let key = ObjectKey(try row.text(0)) else {
      throw DatabaseError.statement("a mirror's object is no object key")
    }
    delivery = try row.integer(1)
    fact = Fact(
      key: key, object: try stores.store(of: key).object(stored: try row.text(4), kind: key.kind),
      asOf: AsOf(from: try row.instant(2), to: try row.instant(3)))
  }
}

extension LedgerReading {
  /// The maximal values of one object, from all deliveries together.
  package func mirrors(of key: ObjectKey) throws -> [MirrorRow] { try mirrors(of: [key]) }

  /// The same for many objects.
  package func mirrors(of keys: [ObjectKey]) throws -> [MirrorRow] {
    let unread = keys.filter { memory.mirrors[$0] == nil }
    for key in unread { memory.mirrors[key] = [] }
    for list in SQLList.slices(of: unread.map { .text($0.description) }, after: 0) {
      let rows = try database.rows(
        """
        SELECT \(MirrorRow.columns) FROM billing.mirrors WHERE object IN (\(list.parameters))
        """, values: list.values
      ) { row in try MirrorRow(row, of: stores) }
      for row in rows { memory.mirrors[row.fact.key, default: []].append(row) }
    }
    return keys.flatMap { memory.mirrors[$0] ?? [] }
  }

  /// Joins one fact into its object's mirror; `content` is its stored form.
  package func join(
    _ fact: Fact, content: String, delivery: Int64, in transaction: Transaction
  ) throws -> MirrorChange {
    var mirror = Mirror<AnyStoreObject>()
    for row in try mirrors(of: fact.key) {
      mirror.insert(.init(row.fact.object, asOf: row.fact.asOf), delivery: row.delivery)
    }
    let change = mirror.insert(.init(fact.object, asOf: fact.asOf), delivery: delivery)
    guard change.isNew else { return change }
    memory.mirrors[fact.key, default: []].removeAll { change.outdated.contains($0.delivery) }
    memory.mirrors[fact.key, default: []].append(MirrorRow(fact, delivery: delivery))
    for outdated in change.outdated {
      try transaction.execute(
        "DELETE FROM billing.mirrors WHERE object = $1 AND delivery = $2",
        .text(fact.key.description), .integer(outdated))
    }
    try transaction.execute(
      """
      INSERT INTO billing.mirrors (object, delivery, as_of_from_ms, as_of_to_ms, content)
      VALUES ($1, $2, $3, $4, $5)
      """, .text(fact.key.description), .integer(delivery), .instant(fact.asOf.from),
      .instant(fact.asOf.to), .text(content))
    return change
  }
}

extension Link {
  /// Deletes the link when one delivery alone is left out, if that delivery was the first to report it.
  package func forget(delivery: Int64, in transaction: Transaction) throws {
    try transaction.execute(
      """
      DELETE FROM billing.links
      WHERE target = $1 AND kind = $2 AND origin = $3 AND delivery = $4
      """, .text(target.description), .text(kind.rawValue), .text(origin.description),
      .integer(delivery))
  }

  /// Writes the link. Returns whether it was new.
  package func write(delivery: Int64, in transaction: Transaction) throws -> Bool {
    try transaction.execute(
      """
      INSERT INTO billing.links (target, kind, origin, delivery) VALUES ($1, $2, $3, $4)
      ON CONFLICT (target, kind, origin) DO NOTHING
      """, .text(target.description), .text(kind.rawValue), .text(origin.description),
      .integer(delivery)) > 0
  }
}
