import Accounts
import Base
import Storage

/// Puts a log's row and trie right by its messages.
///
/// They are added up in slices while writers continue, and again if messages came before the account's row was held.
enum LogRepair {
  private static let attemptCountMax = 5

  /// Repairs the logs of an account whose rows do not fit their messages. Returns how many those were. If messages are
  /// missing, nothing brings them back, and the log stays as it is.
  static func perform(on account: Identifier, in database: Database) throws -> Int {
    let lost = try database.write(for: account) { transaction in
      let logs = try logsOfLostShares(transaction, account)
      for log in logs { try LogShare.deleteAll(transaction, of: log, by: account) }
      return logs.count
    }
    return lost + (try repairLogs(of: account, in: database))
  }

  /// The logs with shares of an account that are not its logs.
  static func logsOfLostShares(
    _ queryable: some Queryable, _ account: Identifier
  ) throws -> [Identifier] {
    try queryable.rows(
      """
      SELECT DISTINCT s.log_id FROM sync.log_shares AS s WHERE s.owner_id = $1
        AND NOT EXISTS (SELECT 1 FROM sync.logs AS l WHERE l.id = s.log_id AND l.owner_id = $1)
      ORDER BY s.log_id
      """, .id(account)
    ) { row in try row.id(0) }
  }

  private static func repairLogs(of account: Identifier, in database: Database) throws -> Int {
    let logs = try database.read { reader in try MessageLog.all(reader, of: account) }
    return try logs.filter { log in
      try LogAudit.fault(of: log, in: database) != nil && repair(log, in: database)
    }.count
  }

  private static func repair(_ log: MessageLog, in database: Database) throws -> Bool {
    for _ in 0..<attemptCountMax {
      var sum = LogSum()
      while try database.read({ reader in try sum.addSlice(of: log.epoch, reader) }) {}
      guard sum.isWhole else { return false }
      let (count, byteCount, pages) = (sum.messageCount, sum.byteCount, sum.trie.changed)
      let isRepaired = try database.write(for: log.owner) { transaction in
        _ = try LockedOwners(transaction, [log.owner])
        let later = try transaction.first(
          "SELECT 1 FROM sync.log_messages WHERE epoch_id = $1 AND number > $2 LIMIT 1",
          .id(log.epoch), .integer(count)
        ) { _ in true }
        guard later == nil else { return false }
        let updated = try transaction.execute(
          """
          UPDATE sync.log_epochs SET message_count = $2, bytes = $3
          WHERE id = $1 AND purge_ms IS NULL
          """, .id(log.epoch), .integer(count), .integer(byteCount))
        guard updated == 1 else { return true }
        try transaction.execute(
          "DELETE FROM sync.log_trie_pages WHERE epoch_id = $1", .id(log.epoch))
        try LogTrie.save(pages, of: log.epoch, in: transaction)
        return true
      }
      if isRepaired { return true }
    }
    throw DatabaseError.busy(retryAfterSeconds: 1)
  }
}
