package import Accounts
package import Base
import JSON
package import Storage

/// The state of a log that a device stored: an object, encrypted by the device.
package struct LogSnapshot: Sendable, Equatable {
  package let object: Identifier
  /// The number of the owner's change that stored it.
  package let version: Int64
  package let byteCount: Int64
  /// The epoch that took messages when it was stored.
  let epoch: Identifier
  /// How many messages of that epoch it has, besides everything before them.
  let coveredCount: Int64

  static let columns = "s.object_id, s.seq, s.content_bytes, s.epoch_id, s.covered_count"

  /// Reads the columns from the one of that index on. Nil if there is none.
  init?(row: borrowing Row, at column: Int) throws {
    guard let object = try row.optionalID(column) else { return nil }
    self.object = object
    version = try row.integer(column + 1)
    byteCount = try row.integer(column + 2)
    epoch = try row.id(column + 3)
    coveredCount = try row.integer(column + 4)
  }

  /// The number of the message up to which a device that begins with the snapshot has an epoch: 0 in one after its own.
  package func number(in epoch: Identifier) -> Int64 { epoch == self.epoch ? coveredCount : 0 }

  func json(in epoch: Identifier, _ history: Identifier) -> JSONValue {
    [
      "version": .integer(version), "bytes": .integer(byteCount),
      "covers": .string(cursor(in: epoch, history).text),
    ]
  }

  /// What a download sends.
  package func content(of owner: Identifier) -> StoredContent {
    StoredContent(owner: owner, version: version, byteCount: byteCount, place: .object(object))
  }

  /// From where on a device reads an epoch that begins with the snapshot.
  func cursor(in epoch: Identifier, _ history: Identifier) -> LogCursor {
    LogCursor(history: history, epoch: epoch, number: number(in: epoch))
  }

  /// Makes a snapshot that of an epoch, in place of another.
  static func insert(
    _ transaction: Transaction, _ object: Identifier, of log: MessageLog, version: Int64,
    byteCount: Int64, covering number: Int64, now: Instant
  ) throws {
    try transaction.execute(
      """
      INSERT INTO sync.log_snapshots
        (object_id, owner_id, seq, epoch_id, covered_count, content_bytes, written_ms)
      VALUES ($1, $2, $3, $4, $5, $6, $7)
      """, .id(object), .id(log.owner), .integer(version), .id(log.epoch), .integer(number),
      .integer(byteCount), .instant(now))
    try transaction.execute(
      "UPDATE sync.log_epochs SET snapshot_id = $2 WHERE id = $1", .id(log.epoch), .id(object))
    if let old = log.snapshot { try release(transaction, old.object, now: now) }
  }

  /// Hands a snapshot to the sweeper unless an epoch still has it.
  static func release(
    _ transaction: Transaction, _ object: Identifier, now: Instant
  ) throws {
    let released = try transaction.first(
      """
      DELETE FROM sync.log_snapshots WHERE object_id = $1
        AND NOT EXISTS (SELECT 1 FROM sync.log_epochs WHERE snapshot_id = $1)
      RETURNING owner_id, content_bytes
      """, .id(object)
    ) { row in (owner: try row.id(0), byteCount: try row.integer(1)) }
    guard let released else { return }
    try Garbage.add(
      transaction, object, of: released.owner, byteCount: released.byteCount, since: now)
  }

  /// Ends an upload that failed.
  package static func abandon(
    _ transaction: Transaction, _ object: Identifier, byteCount: Int64, of log: Identifier
  ) throws {
    try Reservations.abandon(transaction, object, byteCount: byteCount) {
      try transaction.first(
        """
        SELECT owner_id FROM sync.logs WHERE id = $1
          AND NOT EXISTS (SELECT 1 FROM sync.log_snapshots WHERE object_id = $2)
        """, .id(log), .id(object)
      ) { row in try row.id(0) }
    }
  }
}
