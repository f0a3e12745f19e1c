import Accounts
import Base
import Storage

/// Epochs that have ended, and the deletion of their rows.
enum LogPurge {
  static let queue = FailingItems.Queue("logs")
  private static let isDue = FailingItems.isDue(queue, "log_epochs.id", at: "$1")
  /// The most messages that one slice deletes.
  private static let sliceCountMax: Int64 = 1000

  /// Ends an epoch. Until its rows are gone they count as what the account keeps uncharged.
  static func end(
    _ epoch: Identifier, of owner: Identifier, byteCount: Int64, _ transaction: Transaction,
    now: Instant
  ) throws {
    try transaction.execute(
      "UPDATE sync.log_epochs SET ended_ms = $2 WHERE id = $1", .id(epoch), .instant(now))
    try Garbage.keep(transaction, byteCount, of: owner)
  }

  /// The epoch that ended first.
  static func next(_ transaction: Transaction, now: Instant) throws -> Identifier? {
    try transaction.first(
      """
      SELECT id FROM sync.log_epochs WHERE ended_ms IS NOT NULL
        AND \(isDue)
      ORDER BY ended_ms, id LIMIT 1
      """, .instant(now)
    ) { row in try row.id(0) }
  }

  /// Deletes one slice of an epoch that has ended; the last slice takes the epoch's own row.
  static func sweep(_ transaction: Transaction, _ epoch: Identifier) throws {
    guard try !deletedSlice(transaction, epoch) else { return }
    let ended = try transaction.first(
      "DELETE FROM sync.log_epochs WHERE id = $1 RETURNING owner_id, bytes", .id(epoch)
    ) { row in (owner: try row.id(0), byteCount: try row.integer(1)) }
    if let ended { try Garbage.keep(transaction, -ended.byteCount, of: ended.owner) }
  }

  /// Erases one slice of an account's logs. Returns false if nothing was left.
  static func erase(_ transaction: Transaction, _ account: Identifier) throws -> Bool {
    if try transaction.eraseSlice(of: "logs", by: "id", where: "owner_id", is: account) {
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
    let first = try transaction.first(
      "SELECT number FROM sync.log_messages WHERE epoch_id = $1 ORDER BY number LIMIT 1", .id(epoch)
    ) { row in try row.integer(0) }
    if let first {
      try transaction.execute(
        "DELETE FROM sync.log_messages WHERE epoch_id = $1 AND number < $2",
        .id(epoch), .integer(first + sliceCountMax))
      return true
    }
    return try transaction.execute(
      """
      DELETE FROM sync.log_trie_pages WHERE epoch_id = $1 AND path IN (
        SELECT path FROM sync.log_trie_pages WHERE epoch_id = $1 LIMIT $2)
      """, .id(epoch), .integer(sliceCountMax)) > 0
  }
}
