import Accounts
package import Base
import Requests
package import Storage
package import Tiers

/// Takes back the epoch that a log had before, by an operator. A device may have begun another one by mistake.
package enum LogRestore {
  /// An epoch that can be taken back.
  package struct Kept: Sendable {
    package let epoch: Identifier
    package let messageCount: Int64
    let messageByteCount: Int64
    /// The charge for its messages and its snapshot, once it is taken back.
    package let byteCount: Int64
    /// Its rows are deleted from then on.
    package let end: Instant
  }

  /// How long the epoch that an operator replaced stays at least: this may be the mistake, and be noticed late.
  private static let keptSpanMin = Instant.Span.days(30)

  /// Nil if the log keeps none.
  package static func find(
    _ queryable: some Queryable, of log: Identifier, now: Instant
  ) throws -> Kept? {
    try queryable.first(
      """
      SELECT e.id, e.message_count, e.bytes, e.bytes + coalesce(s.content_bytes, 0), e.purge_ms
      FROM sync.log_epochs e LEFT JOIN sync.log_snapshots s ON s.object_id = e.snapshot_id
      WHERE e.log_id = $1 AND e.kept = 1 AND e.purge_ms > $2
      """, .id(log), .instant(now)
    ) { row in
      Kept(
        epoch: try row.id(0), messageCount: try row.integer(1),
        messageByteCount: try row.integer(2), byteCount: try row.integer(3),
        end: try row.instant(4))
    }
  }

  /// Makes a kept epoch the one that takes messages, and keeps the one in its place, to be taken back, too.
  ///
  /// - Throws: An `AccountRefusal` if it does not fit.
  package static func perform(
    _ transaction: Transaction, _ log: MessageLog, _ kept: Kept, catalogue: Catalogue,
    now: Instant
  ) throws {
    var owners = try LockedOwners(transaction, [log.owner])
    let delta = kept.byteCount - log.chargedByteCount
    try owners.require(log.owner).requireRoom(
      for: delta, askedBy: log.owner, transaction, catalogue: catalogue, now: now)
    try owners.charge(
      log.owner, delta, reason: .epochBegun, file: log.id, for: .logs, log.id)
    try owners.save(transaction, now: now)
    try LogOverdraft.change(
      transaction, of: log.owner, by: min(0, kept.messageByteCount - log.byteCount))
    try transaction.execute(
      "UPDATE sync.log_epochs SET kept = 0, purge_ms = NULL WHERE id = $1", .id(kept.epoch))
    try transaction.execute(
      "UPDATE sync.logs SET epoch_id = $2 WHERE id = $1", .id(log.id), .id(kept.epoch))
    try BudgetOfLog.follow(log.id, to: kept.epoch, transaction)
    try LogPurge.keep(
      log, until: max(kept.end, now + keptSpanMin), transaction, catalogue: catalogue, now: now)
  }
}
