package import Base
package import Storage
package import Subscriptions

/// Claims of a purchase that was, or may have been, another account's. Mostly this is a customer
/// with two accounts, whom only an operator can help.
package enum RefusedClaims {
  /// No customer has more for one purchase or one account.
  private static let countMax: Int64 = 10

  /// How long a refused claim is kept.
  package static let keptSpan = Instant.Span.days(30)

  /// Records that an account's claim was refused, or refused again.
  package static func note(
    _ key: ObjectKey, of account: Identifier, at now: Instant, in transaction: Transaction
  ) throws {
    // Before those that are left are counted.
    try transaction.sweepClaims(in: "refused_claims", by: "refused_ms", upTo: now - keptSpan)
    let counts = try transaction.first(
      """
      SELECT (SELECT count(*) FROM billing.refused_claims
          WHERE object = $1 AND account_id <> $2),
        (SELECT count(*) FROM billing.refused_claims
          WHERE account_id = $2 AND object <> $1)
      """, .text(key.description), .id(account)
    ) { row in (try row.integer(0), try row.integer(1)) }
    guard let counts, max(counts.0, counts.1) < countMax else { return }
    try transaction.execute(
      """
      INSERT INTO billing.refused_claims (object, account_id, refused_ms) VALUES ($1, $2, $3)
      ON CONFLICT (object, account_id) DO UPDATE SET refused_ms = excluded.refused_ms
      """, .text(key.description), .id(account), .instant(now))
  }

  /// The refused claims of an account that nothing has answered, newest first.
  package static func all(
    of account: Identifier, at now: Instant, reading database: some Queryable
  ) throws -> [RefusedClaim] {
    try database.rows(
      """
      SELECT object, refused_ms FROM billing.refused_claims
      WHERE account_id = $1 AND refused_ms > $2 ORDER BY refused_ms DESC, object LIMIT $3
      """, .id(account), .instant(now - keptSpan), .integer(countMax)
    ) { row in (ObjectKey(try row.text(0)), try row.instant(1)) }
    .compactMap { key, refused in
      key.map { RefusedClaim(account: account, subscription: $0, refused: refused) }
    }
  }

  /// The refused claims of a purchase that nothing has answered, newest first.
  package static func all(
    about key: ObjectKey, at now: Instant, reading database: some Queryable
  ) throws -> [RefusedClaim] {
    try database.rows(
      """
      SELECT account_id, refused_ms FROM billing.refused_claims
      WHERE object = $1 AND refused_ms > $2 ORDER BY refused_ms DESC, account_id LIMIT $3
      """, .text(key.description), .instant(now - keptSpan), .integer(countMax)
    ) { row in
      RefusedClaim(account: try row.id(0), subscription: key, refused: try row.instant(1))
    }
  }

  /// Deletes the refused claims that a decision answers.
  static func settle(_ decision: Decision, in transaction: Transaction) throws {
    switch decision {
    case .claim(_, let object), .transfer(_, let object, _):
      try transaction.execute(
        "DELETE FROM billing.refused_claims WHERE object = $1", .text(object.description))
    case .accountDeleted(let account):
      try transaction.execute(
        "DELETE FROM billing.refused_claims WHERE account_id = $1", .id(account))
    case .grant, .ungrant, .quota, .quotaCleared: break
    }
  }
}

/// An account's claim of what was, or may have been, another account's.
package struct RefusedClaim: Sendable {
  package let account: Identifier
  package let subscription: ObjectKey
  /// When it was last refused.
  package let refused: Instant
}
