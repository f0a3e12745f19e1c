internal import Base
internal import Storage
internal import Stores
internal import Subscriptions

/// A maximal value of one object, as stored.
struct MirrorRow {
  let fact: Fact
  let delivery: Int64

  /// What `init` reads, in its order.
  static let columns = "object, delivery, as_of_from_ms, as_of_to_ms, content"

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
  /// What all deliveries together say of one object.
  func mirrors(of key: ObjectKey) throws -> [MirrorRow] {
    try database.rows(
      "SELECT \(MirrorRow.columns) FROM billing.mirrors WHERE object = $1", .text(key.description)
    ) { row in try MirrorRow(row, of: stores) }
  }

  /// Joins one fact into its object's mirror; `content` is its stored form.
  func join(
    _ fact: Fact, content: String, delivery: Int64, in transaction: Transaction
  ) throws -> MirrorChange {
    var mirror = Mirror<AnyStoreObject>()
    for row in try mirrors(of: fact.key) {
      mirror.insert(.init(row.fact.object, asOf: row.fact.asOf), delivery: row.delivery)
    }
    let change = mirror.insert(.init(fact.object, asOf: fact.asOf), delivery: delivery)
    for outdated in change.outdated {
      try transaction.execute(
        "DELETE FROM billing.mirrors WHERE object = $1 AND delivery = $2",
        .text(fact.key.description), .integer(outdated))
    }
    guard change.isNew else { return change }
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
  /// Returns whether it was new.
  func write(delivery: Int64, in transaction: Transaction) throws -> Bool {
    try transaction.execute(
      """
      INSERT INTO billing.links (target, kind, origin, delivery) VALUES ($1, $2, $3, $4)
      ON CONFLICT (target, kind, origin) DO NOTHING
      """, .text(target.description), .text(kind.rawValue), .text(origin.description),
      .integer(delivery)) > 0
  }
}
