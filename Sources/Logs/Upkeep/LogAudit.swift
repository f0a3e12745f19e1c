import Accounts
import Base
import Storage

/// Compares a log's row with its messages while writers continue.
///
/// Messages of an epoch are only added, so those up to the number that the row had once stay as they are. They are
/// read in slices, each in its own snapshot.
struct LogAudit {
  private let log: MessageLog
  private let root: Int32
  private var number: Int64 = 0
  private var byteCount: Int64 = 0
  private var trie = MerkleTrie()

  private static let sliceRowCount: Int64 = 1000

  /// Reads the row. The trie is that of the same snapshot.
  private init(_ reader: Reader, _ log: MessageLog) throws {
    self.log = log
    var trie = LogTrie.open(log.epoch, reader)
    root = try trie.root()
  }

  /// The logs of an account, each with a sentence for each fault.
  static func faults(of account: Identifier, in database: Database) throws -> [String] {
    let logs = try database.read { reader in try MessageLog.all(reader, of: account) }
    for log in logs {
      guard var audit = try database.read({ reader in try begun(reader, log.id, of: account) })
      else { continue }
      while audit.number < audit.log.messageCount {
        let isThere = try database.read { reader in try audit.readSlice(reader) }
        guard isThere else { break }
      }
      if let fault = try audit.fault(), try database.read({ try audit.isCurrent($0) }) {
        return ["the log \(log.id) \(fault)"]
      }
    }
    return []
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

  /// Adds up one slice. Returns false if there was none.
  private mutating func readSlice(_ reader: Reader) throws -> Bool {
    let messages = try reader.rows(
      """
      SELECT stamp, CAST(length(content) AS BIGINT) FROM sync.log_messages
      WHERE epoch_id = $1 AND number > $2 AND number <= $3 ORDER BY number LIMIT $4
      """, .id(log.epoch), .integer(number), .integer(log.messageCount),
      .integer(Self.sliceRowCount)
    ) { row in (timestamp: try row.timestamp(0), byteCount: try row.integer(1)) }
    for message in messages {
      number += 1
      byteCount += message.byteCount + LogMessage.overheadByteCount
      try trie.add(message.timestamp)
    }
    return !messages.isEmpty
  }

  /// What does not fit; nil if everything does.
  private mutating func fault() throws -> String? {
    guard number == log.messageCount else {
      return "has \(number) messages, and its row counts \(log.messageCount)"
    }
    guard byteCount == log.byteCount else {
      return "has \(byteCount) bytes, and its row counts \(log.byteCount)"
    }
    let sum = try trie.root()
    return sum == root ? nil : "has messages of the hash \(sum), and its trie has \(root)"
  }

  /// Whether the log still has the epoch that was read; one that ended meanwhile loses its messages.
  private func isCurrent(_ reader: Reader) throws -> Bool {
    try Self.begun(reader, log.id, of: log.owner)?.log.epoch == log.epoch
  }
}
