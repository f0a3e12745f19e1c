import Accounts
import Base
import Storage
import Tiers

/// Epochs that have ended, and the deletion of their rows.
enum LogPurge {
  static let queue = FailingItems.Queue("logs")
  /// The most pages of a trie that one slice deletes.
  private static let pageCountMax: Int64 = 1000

  /// Keeps the epoch that another one has just replaced, so that it can be taken back. Of a log only the last one is
  /// kept, uncharged; and only while what an account keeps so is no more than its cap.
  static func keep(
    _ log: MessageLog, until end: Instant, _ transaction: Transaction, catalogue: Catalogue,
    now: Instant
  ) throws {
    try releaseKept(transaction, of: log.id, now: now)
    let kept = try transaction.first(
      """
      SELECT CAST(coalesce(sum(e.bytes + coalesce(s.content_bytes, 0)), 0) AS BIGINT)
      FROM sync.log_epochs e LEFT JOIN sync.log_snapshots s ON s.object_id = e.snapshot_id
      WHERE e.owner_id = $1 AND e.kept = 1
      """, .id(log.owner)
    ) { row in try row.integer(0) }
    let cap = try Cap(transaction, log.owner, catalogue: catalogue, now: now).byteCount
    guard (kept ?? 0) + log.chargedByteCount <= cap else {
      return try release(transaction, log.epoch, now: now)
    }
    try transaction.execute(
      "UPDATE sync.log_epochs SET kept = 1, purge_ms = $2 WHERE id = $1", .id(log.epoch),
      .instant(end))
  }

  /// Lets the epoch go that a log keeps, if there is one.
  static func releaseKept(
    _ transaction: Transaction, of log: Identifier, now: Instant
  ) throws {
    let kept = try transaction.first(
      "SELECT id FROM sync.log_epochs WHERE log_id = $1 AND kept = 1", .id(log)
    ) { row in try row.id(0) }
    if let kept { try release(transaction, kept, now: now) }
  }

  /// Lets an epoch go for good. Until its rows are gone they count as what the account keeps uncharged.
  static func release(_ transaction: Transaction, _ epoch: Identifier, now: Instant) throws {
    let ended = try transaction.first(
      """
      SELECT owner_id, bytes, snapshot_id FROM sync.log_epochs WHERE id = $1
      """, .id(epoch)
    ) { row in
      (owner: try row.id(0), byteCount: try row.integer(1), snapshot: try row.optionalID(2))
    }
    guard let ended else { return }
    try transaction.execute(
      "UPDATE sync.log_epochs SET kept = 0, purge_ms = $2, snapshot_id = NULL WHERE id = $1",
      .id(epoch), .instant(now))
    try Garbage.keep(transaction, ended.byteCount, of: ended.owner)
    if let snapshot = ended.snapshot {
      try LogSnapshot.release(transaction, snapshot, now: now)
    }
  }

  /// Deletes one slice of a due epoch, its own row last. A kept one is let go first, so that it is taken back whole.
  static func sweep(_ transaction: Transaction, _ epoch: Identifier, now: Instant) throws {
    let owner = try transaction.first(
      "SELECT owner_id FROM sync.log_epochs WHERE id = $1", .id(epoch)
    ) { row in try row.id(0) }
    guard let owner else { return }
    // Whoever takes the epoch back holds this row, and so does another program's sweep.
    _ = try LockedOwners(transaction, [owner])
    let isKept = try transaction.first(
      "SELECT kept FROM sync.log_epochs WHERE id = $1 AND purge_ms <= $2", .id(epoch),
      .instant(now)
    ) { row in try row.integer(0) == 1 }
    guard let isKept else { return }
    guard !isKept else { return try release(transaction, epoch, now: now) }
    guard try !deletedSlice(transaction, epoch) else { return }
    let ended = try transaction.first(
      "DELETE FROM sync.log_epochs WHERE id = $1 RETURNING owner_id, bytes", .id(epoch)
    ) { row in (owner: try row.id(0), byteCount: try row.integer(1)) }
    if let ended { try Garbage.keep(transaction, -ended.byteCount, of: ended.owner) }
  }

  /// Erases one slice of an account's logs. Returns false if nothing was left.
  static func erase(
    _ transaction: Transaction, _ account: Identifier, now: Instant
  ) throws -> Bool {
    if try LogShare.erase(transaction, account)
      || transaction.eraseSlice(of: "logs", by: "id", where: "owner_id", is: account)
      || transaction.eraseSlice(
        of: "log_overdrafts", by: "account_id", where: "account_id", is: account)
      || transaction.eraseContents(of: "log_snapshots", by: "object_id", of: account, now: now)
    {
      return true
    }
    let epoch = try transaction.first(
      "SELECT id FROM sync.log_epochs WHERE owner_id = $1 ORDER BY id LIMIT 1", .id(account)
    ) { row in try row.id(0) }
    guard let epoch else { return false }
    if try !deletedSlice(transaction, epoch) {
      try transaction.execute("DELETE FROM sync.log_epochs WHERE id = $1", .id(epoch))
    }
    return true
  }

  /// Messages, then pages of the trie. Returns false if neither was left.
  private static func deletedSlice(
    _ transaction: Transaction, _ epoch: Identifier
  ) throws -> Bool {
    try transaction.deleteSlice(
      of: "log_messages", where: "epoch_id", is: epoch, by: "number")
      || transaction.execute(
        """
        DELETE FROM sync.log_trie_pages WHERE epoch_id = $1 AND path IN (
          SELECT path FROM sync.log_trie_pages WHERE epoch_id = $1 LIMIT $2)
        """, .id(epoch), .integer(pageCountMax)) > 0
  }
}
