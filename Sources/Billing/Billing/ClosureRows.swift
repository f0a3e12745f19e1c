internal import Base
internal import JSON
internal import Storage
internal import Stripe
internal import Subscriptions

extension StripeClosure {
  /// The subscription's mirror and those of every object linked to or from it.
  ///
  /// `fact` is about to join, and may be the first to name the subscription's customer.
  init(
    _ key: ObjectKey, joinedBy fact: Fact? = nil, reading database: some Queryable
  ) throws {
    self.init(id: key.id)
    let rows = try database.rows(
      """
      SELECT object, source_id, as_of_from_ms, as_of_to_ms, content
        FROM billing.mirrors WHERE object = $1
      UNION ALL
      SELECT m.object, m.source_id, m.as_of_from_ms, m.as_of_to_ms, m.content
        FROM billing.links l JOIN billing.mirrors m ON m.object = l.origin WHERE l.target = $1
      """, .text(key.description)
    ) { row in try MirrorRow(row) }
    for row in rows { try row.join(&self) }
    let known = subscription.contents.flatMap { StripeObject.subscription($0).targets(from: key) }
    let named = fact?.key == key ? fact?.targets ?? [] : []
    for target in Set(known + named) { try join(target, reading: database) }
  }

  /// One object's mirror alone, for an object that nothing is linked to yet.
  init(only key: ObjectKey, reading database: some Queryable) throws {
    self.init(id: key.id)
    try join(key, reading: database)
  }

  private mutating func join(_ key: ObjectKey, reading database: some Queryable) throws {
    let rows = try database.rows(
      """
      SELECT object, source_id, as_of_from_ms, as_of_to_ms, content
        FROM billing.mirrors WHERE object = $1
      """, .text(key.description)
    ) { row in try MirrorRow(row) }
    for row in rows { try row.join(&self) }
  }
}

extension Fact {
  /// The objects that this one names.
  var targets: [ObjectKey] { stripe?.targets(from: key) ?? [] }

  var stripe: StripeObject? { if case .stripe(let object) = object { object } else { nil } }
}

extension StripeObject {
  fileprivate func targets(from key: ObjectKey) -> [ObjectKey] {
    links(from: key).filter { $0.origin == key && $0.target.kind != .payment }.map { $0.target }
  }
}

/// A maximal value of one object, as stored.
private struct MirrorRow {
  let object: String
  let source: Int64
  let asOf: AsOf
  let content: String

  init(_ row: borrowing Row) throws {
    object = try row.text(0)
    source = try row.integer(1)
    asOf = AsOf(from: try row.instant(2), to: try row.instant(3))
    content = try row.text(4)
  }

  func join(_ closure: inout StripeClosure) throws {
    guard let key = ObjectKey(object) else {
      throw DatabaseError.statement("a mirror's object is no object key")
    }
    let json = try JSON.parse(Array(content.utf8))
    closure.insert(
      try StripeObject(stored: json, kind: key.kind), id: key.id, asOf: asOf, source: source)
  }
}

extension MirrorChange {
  /// Brings the object's rows to what the mirror now holds.
  func write(
    _ fact: Fact, content: String, source: Int64, in transaction: Transaction
  ) throws {
    for outdatedSource in outdated {
      try transaction.execute(
        "DELETE FROM billing.mirrors WHERE object = $1 AND source_id = $2",
        .text(fact.key.description), .integer(outdatedSource))
    }
    guard isNew else { return }
    try transaction.execute(
      """
      INSERT INTO billing.mirrors (object, source_id, as_of_from_ms, as_of_to_ms, content)
      VALUES ($1, $2, $3, $4, $5)
      """, .text(fact.key.description), .integer(source), .instant(fact.asOf.from),
      .instant(fact.asOf.to), .text(content))
  }
}
