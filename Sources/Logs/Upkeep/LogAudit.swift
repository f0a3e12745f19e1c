import Accounts
import Base
import Storage

/// Compares a log's row with its messages while writers continue: with those up to the number that the row had once.
struct LogAudit {
  private let log: MessageLog
  private let root: Int32
  private var sum = LogSum()

  /// Reads the row. The trie is that of the same snapshot.
  private init(_ reader: Reader, _ log: MessageLog) throws {
    self.log = log
    var trie = LogTrie.open(log.epoch, reader)
    root = try trie.root()
  }

  /// The faults of an account's logs, one line each; at most the first of each log.
  static func faults(of account: Identifier, in database: Database) throws -> [String] {
    let (epochs, lost, logs) = try database.read { reader in
      (
        try epochsWithoutSnapshot(reader, account),
        try LogRepair.logsOfLostShares(reader, account), try MessageLog.all(reader, of: account)
      )
    }
    return epochs.map { "the epoch \($0) has a snapshot without a row" }
      + lost.map { "the log \($0) has shares, and does not exist" }
      + (try logs.compactMap { log in
        try fault(of: log, in: database).map { "the log \(log.id) \($0)" }
      })
  }

  private static func epochsWithoutSnapshot(
    _ reader: Reader, _ account: Identifier
  ) throws -> [Identifier] {
    try reader.rows(
      """
      SELECT e.id FROM sync.log_epochs e WHERE e.owner_id = $1 AND e.snapshot_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM sync.log_snapshots s WHERE s.object_id = e.snapshot_id)
      ORDER BY e.id LIMIT $2
      """, .id(account), .integer(Faults.countMax)
    ) { row in try row.id(0) }
  }

  /// What does not fit; nil if everything does, or the log has begun another epoch meanwhile.
  static func fault(of log: MessageLog, in database: Database) throws -> String? {
    guard var audit = try database.read({ reader in try begun(reader, log.id, of: log.owner) })
    else { return nil }
    while try database.read({ reader in try audit.readSlice(reader) }) {}
    guard let fault = try audit.fault(), try database.read({ try audit.isCurrent($0) }) else {
      return nil
    }
    return fault
  }

  private static func begun(
    _ reader: Reader, _ id: Identifier, of account: Identifier
  ) throws -> LogAudit? {
    do {
      return try LogAudit(reader, MessageLog.find(reader, id, for: account))
    } catch is LogRefusal {
      return nil
    }
  }

  private mutating func readSlice(_ reader: Reader) throws -> Bool {
    try sum.addSlice(of: log.epoch, through: log.messageCount, reader)
  }

  private mutating func fault() throws -> String? {
    guard sum.messageCount == log.messageCount else {
      return "has \(sum.messageCount) messages, and its row counts \(log.messageCount)"
    }
    guard sum.byteCount == log.byteCount else {
      return "has \(sum.byteCount) bytes, and its row counts \(log.byteCount)"
    }
    let hash = try sum.hash()
    return hash == root ? nil : "has messages of the hash \(hash), and its trie has \(root)"
  }

  /// Whether the log still has the epoch that was read; one that ended meanwhile loses its messages.
  private func isCurrent(_ reader: Reader) throws -> Bool {
    try Self.begun(reader, log.id, of: log.owner)?.log.epoch == log.epoch
  }
}
