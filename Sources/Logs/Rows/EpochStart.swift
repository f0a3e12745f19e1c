import Accounts
import Base
import Crypto
import Storage

/// Begins an epoch without the messages that a snapshot stands for.
///
/// Under end-to-end encryption only a device can fold messages into a state, so a log grows for ever unless one says
/// that it did. Messages that arrived after that are carried over. A device that was offline may still have messages
/// from before. They are not in the snapshot, and their order to what is in it is lost with the messages. So they are
/// refused, and the device gives them new timestamps: no edit is lost.
struct EpochStart {
  let write: LogWrite
  let log: MessageLog

  /// The most messages, and their bytes, that arrived since the snapshot.
  private static let carriedCountMax: Int64 = 5000
  private static let carriedByteCountMax: Int64 = 4 << 20

  private typealias Carried = (timestamp: LogTimestamp, byteCount: Int64)

  private var transaction: Transaction { write.transaction }

  /// - Parameter cursor: Up to where the log's snapshot has all messages.
  func begin(covering cursor: LogCursor, _ owners: inout LockedOwners) throws {
    let covered = try log.number(at: cursor, transaction)
    guard covered > 0 else { throw LogRefusal.cursorInvalid }
    guard let snapshot = log.snapshot, snapshot.epoch == log.epoch,
      snapshot.coveredCount == covered
    else { throw LogRefusal.snapshotMissing }
    let carried = try carried(after: covered)
    let byteCount = carried.reduce(0) { $0 + $1.byteCount }
    let epoch = Random.identifier()
    let delta = byteCount - log.byteCount
    try write.requireAllowance(for: byteCount, of: owners.require(log.owner))
    try write.charge(delta, .epochBegun, log.id, of: log.owner, &owners)
    try LogOverdraft.change(transaction, of: log.owner, by: delta)
    try MessageLog.insertEpoch(
      transaction, epoch, of: log.id, log.owner, horizon: horizon(covered),
      snapshot: snapshot.object)
    try transaction.execute(
      """
      INSERT INTO sync.log_messages (epoch_id, stamp, number, content)
      SELECT $2, stamp, number - $3, content FROM sync.log_messages
      WHERE epoch_id = $1 AND number > $3
      """, .id(log.epoch), .id(epoch), .integer(covered))
    try MessageLog.count(transaction, Int64(carried.count), byteCount: byteCount, in: epoch)
    var trie = MerkleTrie()
    try trie.add(carried.lazy.map(\.timestamp))
    try LogTrie.save(trie, of: epoch, in: transaction)
    try write.begin(epoch, of: log)
  }

  private func carried(after covered: Int64) throws -> [Carried] {
    let outdated = LogRefusal.snapshotOutdated(messageCountMax: Self.carriedCountMax)
    guard log.messageCount - covered <= Self.carriedCountMax else { throw outdated }
    let carried = try transaction.rows(
      """
      SELECT stamp, CAST(length(content) AS BIGINT) FROM sync.log_messages
      WHERE epoch_id = $1 AND number > $2 ORDER BY number
      """, .id(log.epoch), .integer(covered)
    ) { row -> Carried in
      (try row.timestamp(0), try row.integer(1) + LogMessage.overheadByteCount)
    }
    guard carried.reduce(0, { $0 + $1.byteCount }) <= Self.carriedByteCountMax else {
      throw outdated
    }
    return carried
  }

  /// The latest timestamp that the snapshot stands for. The plus keeps SQLite from reading and sorting all numbers.
  private func horizon(_ covered: Int64) throws -> LogTimestamp? {
    let found = try transaction.first(
      """
      SELECT stamp FROM sync.log_messages WHERE epoch_id = $1 AND +number <= $2
      ORDER BY stamp DESC LIMIT 1
      """, .id(log.epoch), .integer(covered)
    ) { row in try row.timestamp(0) }
    return [found, log.horizon].compactMap(\.self).max()
  }
}
