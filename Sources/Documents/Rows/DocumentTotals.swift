import Accounts
import Base
import Storage

/// What an account's versions add up to. The account's row must be locked by who changes it.
struct DocumentTotals: Equatable, Sendable {
  /// The number of the account's latest change of versions.
  var number: Int64 = 0
  /// The current versions. Each is charged as a record.
  var recordCount: Int64 = 0
  /// The charge of all versions besides that.
  var byteCount: Int64 = 0
  /// The part of it for replaced versions, with the account's own texts that they refer to.
  var historyByteCount: Int64 = 0
  /// When to look next for rows to delete; nil if nothing waits.
  var due: Instant?

  init(_ queryable: some Queryable, of account: Identifier) throws {
    let found = try queryable.first(
      """
      SELECT seq, record_count, bytes, history_bytes, due_ms FROM sync.document_totals
      WHERE account_id = $1
      """, .id(account)
    ) { row in
      (
        try row.integer(0), try row.integer(1), try row.integer(2), try row.integer(3),
        try row.optionalInstant(4)
      )
    }
    if let found { (number, recordCount, byteCount, historyByteCount, due) = found }
  }

  var weight: UsageWeight {
    UsageWeight(recordCount: recordCount, contentByteCount: byteCount)
  }

  mutating func look(at moment: Instant) { due = min(due ?? moment, moment) }

  /// Takes what was deleted from the totals and from the usage of an account whose row is held, under its next number. No
  /// device is woken by it. The caller saves the totals and the owners.
  mutating func collect(
    _ byteCount: Int64, records: Int64 = 0, fee: Int64 = 0, file: Identifier,
    of account: Identifier, _ owners: inout LockedOwners
  ) throws {
    recordCount -= records
    self.byteCount -= byteCount
    number = try owners.charge(
      account, -byteCount - records * fee, records: -records, reason: .documentsCollected,
      file: file, for: .documents, quietly: true)
  }

  func save(_ transaction: Transaction, of account: Identifier) throws {
    try transaction.execute(
      """
      INSERT INTO sync.document_totals
        (account_id, seq, record_count, bytes, history_bytes, due_ms)
      VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (account_id) DO UPDATE SET seq = excluded.seq,
        record_count = excluded.record_count, bytes = excluded.bytes,
        history_bytes = excluded.history_bytes, due_ms = excluded.due_ms
      """, .id(account), .integer(number), .integer(recordCount), .integer(byteCount),
      .integer(historyByteCount), .instant(due))
  }
}
