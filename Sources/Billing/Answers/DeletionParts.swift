package import Base
import Ledger
package import Storage

/// How far each part of a requested account deletion has come. Each program erases its own rows when
/// it runs, and the account is erased once both have.
package struct DeletionParts: Sendable, Equatable {
  package let sync: Part
  package let billing: Part
  package let stores: Stores
  /// When the later of the two programs finished; nil until both have.
  package let erased: Instant?
  /// When coffer-sync finished, which is when the account's own history ends.
  let syncErased: Instant?

  package enum Part: String, Sendable {
    /// Nothing of the account is erased there yet.
    case waiting
    case erasing, erased
    /// coffer-billing never ran on this database, so it holds nothing.
    case unused
  }

  package enum Stores: String, Sendable {
    /// coffer-billing has not read the account's deletion yet.
    case waiting
    /// Stores are being asked to stop billing, or one of them has not stopped yet.
    case stopping
    /// No store that Coffer can ask bills a subscription of the account.
    case stopped
    /// A store that accepts no such order still bills a subscription, which only its customer can cancel.
    case billing
    /// Another Coffer has the account, so stores are not asked to stop (`--moved`).
    case moved
  }

  /// Nil if no deletion was requested.
  package init?(of account: Identifier, reading database: any Queryable) throws {
    let row = try database.first(
      """
      SELECT d.begun_ms, d.erased_ms, d.moved, b.state, b.erased_ms
      FROM sync.account_deletions AS d
      LEFT JOIN billing.account_deletions AS b
        ON b.account_id = d.account_id AND b.asked_ms = d.asked_ms
      WHERE d.account_id = $1
      """, .id(account)
    ) { row in
      (
        begun: try row.optionalInstant(0), erased: try row.optionalInstant(1),
        hasMoved: try row.integer(2) == 1,
        state: try row.optionalText(3).flatMap { LeavingAccount.State(rawValue: $0) },
        billingErased: try row.optionalInstant(4)
      )
    }
    guard let row else { return nil }
    let isUnused = try row.state == nil && RulesInForce(reading: database) == nil
    sync = row.erased != nil ? .erased : row.begun != nil ? .erasing : .waiting
    billing =
      switch row.state {
      case nil where isUnused: .unused
      case nil, .stopping, .waiting: .waiting
      case .erasing: .erasing
      case .erased: .erased
      }
    stores = try Self.stores(of: account, row.state, row.hasMoved, isUnused, database)
    syncErased = row.erased
    let billingErased = isUnused ? row.erased : row.billingErased
    erased =
      if let first = row.erased, let second = billingErased { max(first, second) } else { nil }
  }

  private static func stores(
    of account: Identifier, _ state: LeavingAccount.State?, _ hasMoved: Bool, _ isUnused: Bool,
    _ database: any Queryable
  ) throws -> Stores {
    if hasMoved { return .moved }
    if isUnused { return .stopped }
    guard let state else { return .waiting }
    if state == .stopping { return .stopping }
    // The deletion removes the ownership and leaves an attention row for what is still billed.
    let isBilled = try database.first(
      """
      SELECT 1 FROM billing.transitions AS t
      JOIN billing.attention AS a ON a.object = t.object AND a.kind = $2
      WHERE t.cause = 'owner' AND t.state_before <> 'none' AND t.state_before = $1 LIMIT 1
      """, .text(account.description), .text(Attention.Kind.stillBilled.rawValue)
    ) { _ in true }
    if isBilled ?? false { return .billing }
    return try Ledger.isCollected(from: account, reading: database) ? .stopping : .stopped
  }
}
