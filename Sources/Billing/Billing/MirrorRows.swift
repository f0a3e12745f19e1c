internal import Base
internal import Storage
internal import Subscriptions

/// A maximal value of one object, as stored.
struct MirrorRow {
  let fact: Fact
  let source: Int64

  static let columns = "object, source_id, as_of_from_ms, as_of_to_ms, content"

  init(_ row: borrowing Row) throws {
    guard let key = ObjectKey(try row.text(0)) else {
      throw DatabaseError.statement("a mirror's object is no object key")
    }
    source = try row.integer(1)
    fact = Fact(
      key: key, object: try ProviderObject(stored: try row.text(4), of: key),
      asOf: AsOf(from: try row.instant(2), to: try row.instant(3)))
  }

  static func all(of key: ObjectKey, reading database: some Queryable) throws -> [MirrorRow] {
    try database.rows(
      "SELECT \(columns) FROM billing.mirrors WHERE object = $1", .text(key.description)
    ) { row in try MirrorRow(row) }
  }

  /// Joins one fact into its object's mirror; `content` is its stored form.
  static func join(
    _ fact: Fact, content: String, source: Int64, in transaction: Transaction
  ) throws -> MirrorChange {
    var mirror = Mirror<ProviderObject>()
    for row in try all(of: fact.key, reading: transaction) {
      mirror.insert(.init(row.fact.object, asOf: row.fact.asOf), source: row.source)
    }
    let change = mirror.insert(.init(fact.object, asOf: fact.asOf), source: source)
    for outdated in change.outdated {
      try transaction.execute(
        "DELETE FROM billing.mirrors WHERE object = $1 AND source_id = $2",
        .text(fact.key.description), .integer(outdated))
    }
    guard change.isNew else { return change }
    try transaction.execute(
      """
      INSERT INTO billing.mirrors (object, source_id, as_of_from_ms, as_of_to_ms, content)
      VALUES ($1, $2, $3, $4, $5)
      """, .text(fact.key.description), .integer(source), .instant(fact.asOf.from),
      .instant(fact.asOf.to), .text(content))
    return change
  }
}

extension Link {
  /// Returns whether it was new.
  func write(source: Int64, in transaction: Transaction) throws -> Bool {
    try transaction.execute(
      """
      INSERT INTO billing.links (target, kind, origin, source_id) VALUES ($1, $2, $3, $4)
      ON CONFLICT (target, kind, origin) DO NOTHING
      """, .text(target.description), .text(kind.rawValue), .text(origin.description),
      .integer(source)) > 0
  }

  /// The origins of such links to an object, ascending.
  static func origins(
    of kind: Kind, to target: ObjectKey, reading database: some Queryable
  ) throws -> [ObjectKey] {
    try database.rows(
      "SELECT origin FROM billing.links WHERE target = $1 AND kind = $2 ORDER BY origin",
      .text(target.description), .text(kind.rawValue)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
  }
}
