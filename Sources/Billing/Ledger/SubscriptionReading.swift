internal import Base
internal import Storage
internal import Stores
package import Subscriptions

extension LedgerReading {
  /// Everything the database knows of one subscription, its owner's history included.
  package func subscription(_ key: ObjectKey) throws -> Subscription {
    var visited: Set<ObjectKey> = []
    return try subscription(key, &visited)
  }

  private func subscription(
    _ key: ObjectKey, _ visited: inout Set<ObjectKey>
  ) throws -> Subscription {
    var subscription = try stores.subscription(key)
    visited.insert(key)
    for row in try parts(of: key) { subscription.insert(row.fact, delivery: row.delivery) }
    for companion in subscription.companions {
      for row in try mirrors(of: companion) {
        subscription.insert(row.fact, delivery: row.delivery)
      }
    }
    subscription.predecessor = try predecessorOwner(of: key, &visited)
    subscription.unansweredSince = try Unanswered.since(key, reading: database)
    subscription.insert(
      try Decisions(about: key, candidates: subscription.candidates, reading: database))
    return subscription
  }

  /// The mirrors of the subscription itself and of all that is linked to it.
  private func parts(of key: ObjectKey) throws -> [MirrorRow] {
    try database.rows(
      """
      WITH RECURSIVE reach (object, is_open) AS (
        SELECT origin, CASE kind WHEN 'bridge' THEN 1 ELSE 0 END
        FROM billing.links WHERE target = $1 AND kind <> 'predecessor'
        UNION
        SELECT l.origin, CASE l.kind WHEN 'bridge' THEN 1 ELSE 0 END
        FROM reach r JOIN billing.links l ON l.target = r.object
        WHERE r.is_open = 1 AND l.kind <> 'predecessor')
      SELECT object, delivery, as_of_from_ms, as_of_to_ms, content
      FROM billing.mirrors WHERE object = $1
      UNION ALL
      SELECT m.object, m.delivery, m.as_of_from_ms, m.as_of_to_ms, m.content
      FROM reach r JOIN billing.mirrors m ON m.object = r.object
      """, .text(key.description)
    ) { row in try MirrorRow(row, of: stores) }
  }

  /// A chain of purchases longer than this is no customer's.
  private static let chainCountMax = 32

  /// Whose the purchase is that this one continues: one who is named at all, the lowest by key.
  private func predecessorOwner(
    of key: ObjectKey, _ visited: inout Set<ObjectKey>
  ) throws -> Identifier? {
    guard try stores.store(of: key).traits.hasSuccessors, visited.count < Self.chainCountMax else {
      return nil
    }
    for older in try origins(of: .predecessor, to: key) where !visited.contains(older) {
      if let owner = try subscription(older, &visited).ownership.account { return owner }
    }
    return nil
  }
}

extension Decisions {
  /// What was decided about a subscription, and which of its possible owners were deleted.
  init(
    about key: ObjectKey, candidates: Set<Identifier>, reading database: some Queryable
  ) throws {
    var claims: [Claim] = []
    var transfers: [Transfer] = []
    let decided = try database.rows(
      """
      SELECT kind, sequence, account_id FROM billing.decisions
      WHERE object = $1 AND kind IN ('claim', 'transfer')
      """, .text(key.description)
    ) { row in (try row.text(0), try row.integer(1), try row.id(2)) }
    for (kind, sequence, account) in decided {
      if kind == "claim" {
        claims.append(Claim(sequence: sequence, account: account))
      } else {
        transfers.append(Transfer(sequence: sequence, account: account))
      }
    }
    var deletions: [Identifier: Int64] = [:]
    for account in candidates.union(decided.map { $0.2 }) {
      deletions[account] = try database.first(
        """
        SELECT sequence FROM billing.decisions
        WHERE account_id = $1 AND kind = 'account_deleted' ORDER BY sequence LIMIT 1
        """, .id(account)
      ) { row in try row.integer(0) }
    }
    self.init(claims: claims, transfers: transfers, deletions: deletions)
  }
}
