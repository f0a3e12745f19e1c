package import Base
package import Storage

/// One line of the usage ledger: why an account's usage changed. The latest 5,000 of an account are kept one by one.
/// Older ones are folded into one for each reason and 500 numbers, so there are never more than about 5,500.
package struct UsageEntry: Sendable, Equatable {
  /// The account's sequence number of the change.
  package let number: Int64
  package var deltaByteCount: Int64
  package let reason: String
  /// The first of the files that changed with it.
  package let file: Identifier
  package let at: Instant
  /// The number of entries folded into this line; its number, file and time are those of the last.
  package var entryCount: Int64 = 1

  private static let keptCount: Int64 = 5000
  /// Entries are folded when the sequence passes a multiple of this, so most writes need not look.
  private static let foldSpan: Int64 = 500
  /// The most entries folded at once: twice as many as can have come since, so that a longer ledger shrinks.
  private static let foldCountMax: Int64 = 2 * foldSpan

  private static let columns = "seq, delta_bytes, reason, file_id, at_ms, entry_count"

  private init(row: borrowing Row) throws {
    number = try row.integer(0)
    deltaByteCount = try row.integer(1)
    reason = try row.text(2)
    file = try row.id(3)
    at = try row.instant(4)
    entryCount = try row.integer(5)
  }

  package init(
    number: Int64, deltaByteCount: Int64, reason: String, file: Identifier, at: Instant
  ) {
    self.number = number
    self.deltaByteCount = deltaByteCount
    self.reason = reason
    self.file = file
    self.at = at
  }

  /// Latest first; at most `limit`.
  package static func latest(
    _ queryable: some Queryable, of account: Identifier, below number: Int64 = .max, limit: Int
  ) throws -> [UsageEntry] {
    try queryable.rows(
      """
      SELECT \(columns) FROM sync.usage_entries WHERE owner_id = $1 AND seq < $2
      ORDER BY seq DESC LIMIT $3
      """,
      .id(account), .integer(number), .integer(Int64(limit))
    ) { row in try UsageEntry(row: row) }
  }

  /// The number of lines kept for an account.
  package static func count(_ queryable: some Queryable, of account: Identifier) throws -> Int64 {
    try queryable.number(
      "SELECT count(*) FROM sync.usage_entries WHERE owner_id = $1", .id(account))
  }

  package func append(_ transaction: Transaction, of account: Identifier) throws {
    try transaction.execute(
      """
      INSERT INTO sync.usage_entries
        (owner_id, seq, delta_bytes, reason, file_id, at_ms, entry_count)
      VALUES ($1, $2, $3, $4, $5, $6, $7)
      """,
      .id(account), .integer(number), .integer(deltaByteCount), .text(reason), .id(file),
      .instant(at), .integer(entryCount))
  }

  /// Folds old entries when due: the account's sequence went on `from` one number `to` another.
  static func fold(
    _ transaction: Transaction, of account: Identifier, from: Int64, to: Int64
  ) throws {
    guard from / foldSpan != to / foldSpan else { return }
    let newest = try transaction.first(
      """
      SELECT seq FROM sync.usage_entries WHERE owner_id = $1
      ORDER BY seq DESC LIMIT 1 OFFSET \(keptCount)
      """, .id(account)
    ) { row in try row.integer(0) }
    guard let newest else { return }
    let old = try transaction.rows(
      """
      SELECT \(columns) FROM sync.usage_entries WHERE owner_id = $1 AND seq <= $2
      ORDER BY seq LIMIT \(foldCountMax)
      """, .id(account), .integer(newest)
    ) { row in try UsageEntry(row: row) }
    var folded: [String: UsageEntry] = [:]
    for var entry in old {
      if let earlier = folded[entry.reason] {
        entry.deltaByteCount += earlier.deltaByteCount
        entry.entryCount += earlier.entryCount
      }
      folded[entry.reason] = entry
    }
    guard let last = old.last, folded.count < old.count else { return }
    try transaction.execute(
      "DELETE FROM sync.usage_entries WHERE owner_id = $1 AND seq <= $2",
      .id(account), .integer(last.number))
    for entry in folded.values { try entry.append(transaction, of: account) }
  }
}
