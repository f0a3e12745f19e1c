package import Base
import JSON
package import Storage
import Subscriptions

/// A stored decision.
package struct Decided: Sendable {
  package let id: Identifier
  /// Its position among deliveries and decisions, by which an owner's evidence names it.
  package let sequence: Int64
  package let at: Instant
  package let decision: Decision

  package static let columns = "id, sequence, decided_ms, kind, account_id, object, content"

  package init(id: Identifier, sequence: Int64 = 0, at: Instant, decision: Decision) {
    self.id = id
    self.sequence = sequence
    self.at = at
    self.decision = decision
  }

  package init(_ row: borrowing Row) throws {
    id = try row.id(0)
    sequence = try row.integer(1)
    at = try row.instant(2)
    decision = try Decision(
      kind: try row.text(3), account: try row.id(4), object: try row.optionalText(5),
      content: try row.text(6))
  }

  /// The decisions that gave an account something or ended it, in the order of their sequence.
  package static func all(
    of account: Identifier, reading database: some Queryable
  ) throws -> [Decided] {
    try database.rows(query, .id(account)) { row in try Decided(row) }
  }

  private static let query = """
    SELECT \(columns) FROM billing.decisions
    WHERE account_id = $1 AND kind IN ('grant', 'ungrant', 'quota', 'quota_cleared', 'account_deleted')
    ORDER BY sequence
    """

  /// The decisions for an account, and those that took a subscription from it, newest first.
  package static func all(
    concerning account: Identifier, countMax: Int64, reading reader: Reader
  ) throws -> [Decided] {
    try reader.rows(
      """
      SELECT \(columns) FROM billing.decisions WHERE account_id = $1
      UNION
      SELECT d.id, d.sequence, d.decided_ms, d.kind, d.account_id, d.object, d.content
      FROM billing.transitions AS t JOIN billing.decisions AS d ON d.sequence = t.entry
      WHERE t.cause = 'owner' AND t.state_before <> 'none' AND t.state_before = $2
      ORDER BY sequence DESC LIMIT $3
      """, .id(account), .text(account.description), .integer(countMax)
    ) { row in try Decided(row) }
  }
}

extension Decision {
  package init(
    kind: String, account: Identifier, object: String?, content: String
  ) throws {
    let json = try JSON.parse(Array(content.utf8))
    switch (kind, object.flatMap { ObjectKey($0) }) {
    case ("grant", _):
      self = .grant(
        account, planID: try json["plan"].requireString(),
        from: try json["from"].requireInstant(),
        until: json["until"].integer.map { Instant(milliseconds: $0) },
        note: try json["note"].requireString())
    case ("ungrant", _):
      guard let grant = Identifier(try json["grant"].requireString()) else {
        throw DatabaseError.statement("a decision takes back what is no grant")
      }
      self = .ungrant(account, grant: grant, note: try json["note"].requireString())
    case ("quota", _):
      self = .quota(
        account, byteCount: try json["bytes"].requireInteger(),
        until: json["until"].integer.map { Instant(milliseconds: $0) },
        note: try json["note"].requireString())
    case ("quota_cleared", _):
      self = .quotaCleared(account, note: try json["note"].requireString())
    case ("claim", let object?): self = .claim(account, object)
    case ("transfer", let object?):
      self = .transfer(account, object, note: try json["note"].requireString())
    case ("account_deleted", _): self = .accountDeleted(account)
    default: throw DatabaseError.statement("a decision is of no known kind")
    }
  }
}
