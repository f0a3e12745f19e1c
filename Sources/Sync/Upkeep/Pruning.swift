import Accounts
package import Base
package import Storage

/// Forgets deletions that every client has seen, or is too old to be sent.
package enum Pruning {
  /// Allows for the clocks of different machines.
  static let margin = Instant.Span.days(1)
  private static let isDue = FailingItems.isDue(.pruning, "files.id", at: "$3")

  static func dueFiles(
    _ transaction: Transaction, before horizon: Instant, now: Instant
  ) throws -> [Identifier] {
    // A folder with children still to be marked stays, because it is above them.
    try transaction.ids(
      """
      SELECT id FROM sync.files WHERE deleted = 1 AND deleted_ms <= $1 AND trash_id IS NULL
        AND NOT EXISTS (SELECT 1 FROM sync.deletions WHERE folder_id = files.id)
        AND \(isDue)
      ORDER BY deleted_ms LIMIT $2
      """, .instant(horizon), .integer(Sweeper.sliceCountMax), .instant(now))
  }

  /// Forgets those files that are still deleted. Another instance may have forgotten one since it was found to be due,
  /// and an account may have used its id anew.
  package static func files(
    _ transaction: Transaction, _ due: [Identifier], before horizon: Instant
  ) throws {
    var shares: [Share] = []
    for id in due {
      shares += try transaction.rows(
        "SELECT \(Share.columns) FROM sync.shares WHERE file_id = $1", .id(id)
      ) { row in try Share(row: row) }
    }
    // Views and shares change only under their own account's row.
    var accounts = try LockedOwners(transaction, Set(shares.map(\.account)))
    let visibility = Visibility(transaction, now: horizon)
    for id in due {
      // The row is held from here on.
      let held = try transaction.execute(
        "UPDATE sync.files SET deleted = 1 WHERE id = $1 AND deleted = 1 AND deleted_ms <= $2",
        .id(id), .instant(horizon))
      guard held == 1 else { continue }
      try FolderCap.forget(id, transaction)
      try transaction.execute("DELETE FROM sync.shares WHERE file_id = $1", .id(id))
      try transaction.execute("DELETE FROM sync.files WHERE id = $1", .id(id))
    }
    for share in shares where share.state == .accepted {
      try visibility.close(share.account, share.owner, &accounts)
    }
    try accounts.save(transaction, now: horizon)
  }
}
