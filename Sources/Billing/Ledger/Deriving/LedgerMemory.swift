package import Base
import Storage
package import Subscriptions
package import Tiers

/// The rows that one transaction has read and written so far, so that nothing is read twice. It is as
/// current as the transaction: other writers wait for the sequence's lock.
package final class LedgerMemory {
  /// Whether the transaction may have written decisions earlier. If so, none can be ruled out
  /// without reading.
  let followsDecision: Bool
  /// All stored mirrors of each object, even if there are none.
  var mirrors: [ObjectKey: [MirrorRow]] = [:]
  var subscriptions: [ObjectKey: StoredSubscription] = [:]
  var accounts: [Identifier: AccountRows] = [:]
  /// The number of stored transitions of subscriptions whose row was lost, as their changes were
  /// already recorded.
  package var keptTransitionCounts: [ObjectKey: Int64] = [:]
  /// The coverages that were derived in this transaction.
  package var coverages: [ObjectKey: Coverage] = [:]

  init(followsDecision: Bool) { self.followsDecision = followsDecision }

  /// Remembers that a subscription was derived, and written if it changed.
  func note(_ derivation: Derivation) {
    coverages[derivation.key] = derivation.coverage
    if derivation.isNew { subscriptions[derivation.key]?.row = derivation.row }
  }
}

/// A subscription's derived row, and what was recorded for it besides its objects.
package struct StoredSubscription {
  package var row: SubscriptionRow?
  /// Since when reads of it have failed.
  package let unansweredSince: Instant?
  /// Whether there may be decisions about it.
  let isDecided: Bool

  fileprivate static let query = """
    SELECT \(SubscriptionRow.columns),
      (SELECT since_ms FROM billing.unanswered WHERE object = $1),
      (SELECT count(*) FROM billing.decisions WHERE object = $1)
    FROM billing.subscriptions WHERE object = $1
    """
}

/// The stored rows of an account.
package struct AccountRows {
  /// Its schedule; empty if the account is unknown to billing.
  package var boundaries: [Schedule.Boundary]
  /// The decisions that gave it something or ended it, in the order of their sequence.
  package let decided: [Decided]

  /// The sequence number of its deletion.
  var deletion: Int64? {
    decided.first { if case .accountDeleted = $0.decision { true } else { false } }?.sequence
  }
}

extension LedgerReading {
  /// A subscription's row, read together with what is recorded besides it. Failed reads are
  /// recorded only for derived subscriptions, and every decision about one derives it.
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

  /// Reads an account's rows. Every decision about an account writes its schedule, so an account
  /// without a schedule has no decisions.
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
