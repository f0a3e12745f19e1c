package import Base
internal import Storage
package import Subscriptions
package import Tiers

/// What one transaction has read and written so far, so that nothing is read twice or read back.
///
/// It is as current as the transaction: what a neighbour writes meanwhile waits for the sequence's lock.
package final class LedgerMemory {
  /// Whether the transaction wrote decisions before it: then none can be ruled out unread.
  let followsDecision: Bool
  /// Of each object all that is stored, none included.
  var mirrors: [ObjectKey: [MirrorRow]] = [:]
  var subscriptions: [ObjectKey: StoredSubscription] = [:]
  var accounts: [Identifier: AccountRows] = [:]
  /// Of subscriptions whose row was lost, how many transitions are kept: what became of them is told.
  package var keptTransitionCounts: [ObjectKey: Int64] = [:]
  /// As they were derived in this transaction.
  package var coverages: [ObjectKey: Coverage] = [:]

  init(followsDecision: Bool) { self.followsDecision = followsDecision }

  /// That a subscription was derived, and written where it changed.
  func note(_ derivation: Derivation) {
    coverages[derivation.key] = derivation.coverage
    if derivation.isNew { subscriptions[derivation.key]?.row = derivation.row }
  }
}

/// What was derived of a subscription, and what was noted of it beside its objects.
package struct StoredSubscription {
  package var row: SubscriptionRow?
  /// Since when reads of it have failed.
  let unansweredSince: Instant?
  /// Whether anything may have been decided about it.
  let isDecided: Bool
}

/// What is stored of an account.
package struct AccountRows {
  /// Its schedule; empty where billing never heard of it.
  package var boundaries: [Schedule.Boundary]
  /// What gave it something or ended it, in the order of its sequence.
  package let decided: [Decided]

  /// When it was deleted, as a sequence.
  var deletion: Int64? {
    decided.first { if case .accountDeleted = $0.decision { true } else { false } }?.sequence
  }
}

extension LedgerReading {
  /// A subscription's row, and in the same statement what is noted beside it: failed reads are noted
  /// of derived subscriptions alone, and whatever is decided about one derives it.
  package func stored(_ key: ObjectKey) throws -> StoredSubscription {
    if let known = memory.subscriptions[key] { return known }
    let found = try database.first(
      StoredSubscription.query, .text(key.description)
    ) { row in
      StoredSubscription(
        row: try SubscriptionRow(row),
        unansweredSince: try row.optionalInstant(SubscriptionRow.columnCount),
        isDecided: try row.integer(SubscriptionRow.columnCount + 1) > 0)
    }
    let stored =
      found
      ?? StoredSubscription(row: nil, unansweredSince: nil, isDecided: memory.followsDecision)
    memory.subscriptions[key] = stored
    return stored
  }

  /// Whatever is decided about an account writes its schedule, so that one without has none.
  package func account(_ account: Identifier) throws -> AccountRows {
    if let known = memory.accounts[account] { return known }
    let boundaries = try EntitlementRows.schedule(of: account, reading: database)
    let isKnown = !boundaries.isEmpty || memory.followsDecision
    let rows = AccountRows(
      boundaries: boundaries,
      decided: isKnown ? try Decided.all(of: account, reading: database) : [])
    memory.accounts[account] = rows
    return rows
  }
}

extension StoredSubscription {
  fileprivate static let query = """
    SELECT \(SubscriptionRow.columns),
      (SELECT since_ms FROM billing.unanswered WHERE object = $1),
      (SELECT count(*) FROM billing.decisions WHERE object = $1)
    FROM billing.subscriptions WHERE object = $1
    """
}
