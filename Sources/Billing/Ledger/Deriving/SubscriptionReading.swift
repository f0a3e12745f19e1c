import Base
import Storage
import Stores
package import Subscriptions

extension LedgerReading {
  /// Everything that the database holds about one subscription, including its owner's history.
  package func subscription(_ key: ObjectKey) throws -> Subscription {
    var visited: Set<ObjectKey> = []
    return try subscription(key, &visited)
  }

  private func subscription(
    _ key: ObjectKey, _ visited: inout Set<ObjectKey>
  ) throws -> Subscription {
    var subscription = try stores.subscription(key)
    visited.insert(key)
    let stored = try stored(key)
    for row in try mirrors(of: try reach(from: key, parts: true)) {
      subscription.insert(row.fact, delivery: row.delivery)
    }
    for row in try mirrors(of: subscription.companions) {
      subscription.insert(row.fact, delivery: row.delivery)
    }
    subscription.predecessor = try predecessorOwner(of: key, &visited)
    subscription.unansweredSince = stored.unansweredSince
    subscription.decisions = try decisions(
      about: key, isDecided: stored.isDecided, candidates: subscription.candidates)
    if subscription.willRenew, let former = subscription.ownership.former {
      subscription.hasMoved = try LeavingAccount.hasMoved(former, reading: database)
    }
    return subscription
  }

  /// The longest chain of purchases that is followed; no customer has a longer one.
  private static let chainCountMax = 32

  /// The owner of the purchase that this one continues. Of several purchases, it is the first by
  /// key that has an owner.
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

extension LedgerReading {
  /// The decisions about a subscription, and which of its possible owners were deleted.
  private func decisions(
    about key: ObjectKey, isDecided: Bool, candidates: Set<Identifier>
  ) throws -> Decisions {
    let decided =
      isDecided
      ? try database.rows(
        """
        SELECT kind, sequence, account_id FROM billing.decisions
        WHERE object = $1 AND kind IN ('claim', 'transfer')
        """, .text(key.description)
      ) { row in
        (
          kind: try row.text(0),
          owner: Decisions.Assignment(sequence: try row.integer(1), account: try row.id(2))
        )
      } : []
    var deletions: [Identifier: Int64] = [:]
    for account in candidates.union(decided.map { $0.owner.account }) {
      deletions[account] = try self.account(account).deletion
    }
    return Decisions(
      claims: decided.filter { $0.kind == "claim" }.map { $0.owner },
      transfers: decided.filter { $0.kind == "transfer" }.map { $0.owner }, deletions: deletions)
  }
}
