import Accounts
import Base
import Storage

/// Takes back what devices of an account that is being erased wrote in others: nobody would be charged for it.
enum DocumentWithdrawal {
  /// Takes one slice back. Returns false if nothing was left.
  static func sweep(
    _ transaction: Transaction, _ account: Identifier, fee: Int64, now: Instant
  ) throws -> Bool {
    let holders = try Set(written(transaction, by: account).map(\.holder))
    guard !holders.isEmpty else {
      return try transaction.eraseSlice(
        of: "document_devices", by: "account_id, author_key", where: "writer_id", is: account)
    }
    var owners = try LockedOwners(transaction, holders.union([account]))
    // Read again, because they may have changed before the locks.
    let written = try written(transaction, by: account)
      .filter { owners.accounts.contains($0.holder) }
    for (holder, versions) in Dictionary(grouping: written, by: \.holder) {
      try VersionRows(transaction, of: holder).delete(versions.map(\.number))
      var totals = try DocumentTotals(transaction, of: holder)
      try totals.collect(
        0, records: Int64(versions.count { $0.isCurrent }), fee: fee, file: versions[0].document,
        of: holder, &owners)
      try totals.save(transaction, of: holder)
    }
    try owners.save(transaction, now: now)
    return true
  }

  private struct Written {
    let holder: Identifier
    let number: Int64
    let document: Identifier
    let isCurrent: Bool
  }

  private static func written(
    _ transaction: Transaction, by account: Identifier
  ) throws -> [Written] {
    try transaction.rows(
      """
      SELECT account_id, seq, document_id, replaced_ms FROM sync.document_versions
      WHERE writer_id = $1 ORDER BY account_id, seq LIMIT $2
      """, .id(account), .integer(Transaction.erasedCountMax)
    ) { row in
      Written(
        holder: try row.id(0), number: try row.integer(1), document: try row.id(2),
        isCurrent: try row.optionalInteger(3) == nil)
    }
  }
}
