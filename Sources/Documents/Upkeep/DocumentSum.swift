import Accounts
import Base
import Storage

/// What an account's versions, texts and blobs add up to.
struct DocumentSum {
  private(set) var recordCount: Int64 = 0
  private(set) var byteCount: Int64 = 0
  private(set) var historyByteCount: Int64 = 0

  /// The totals as they are stored, and the sum of the rows at the same moment.
  static func read(
    of account: Identifier, in database: Database
  ) throws -> (recorded: DocumentTotals, sum: DocumentSum) {
    try database.settled({ try DocumentTotals($0, of: account) }, by: \.number) {
      var sum = DocumentSum()
      try database.readSlices(
        """
        SELECT v.seq, v.bytes, v.replaced_ms,
          CASE WHEN v.writer_id IS NULL THEN coalesce(t.bytes, 0) ELSE 0 END
        FROM \(StoredVersion.source) WHERE v.account_id = $1 AND v.seq > $2 ORDER BY v.seq LIMIT $3
        """, of: account, after: .integer(0)
      ) { row in
        let byteCount = try row.integer(1)
        sum.byteCount += byteCount
        if try row.optionalInteger(2) == nil {
          sum.recordCount += 1
        } else {
          sum.historyByteCount += byteCount + (try row.integer(3))
        }
        return [.integer(try row.integer(0))]
      }
      try database.readSlices(
        """
        SELECT id, bytes FROM sync.document_texts WHERE owner_id = $1 AND id > $2
        ORDER BY id LIMIT $3
        """, of: account, after: .id(Identifier(high: 0, low: 0))
      ) { row in
        sum.byteCount += try row.integer(1)
        return [.id(try row.id(0))]
      }
      try database.readSlices(
        """
        SELECT seq, content_bytes FROM sync.document_blobs WHERE owner_id = $1 AND seq > $2
        ORDER BY seq LIMIT $3
        """, of: account, after: .integer(0)
      ) { row in
        sum.byteCount += try DocumentBlob.charge(row.integer(1))
        return [.integer(try row.integer(0))]
      }
      return sum
    }
  }

  /// What of the totals does not fit; nil if everything does.
  func fault(of recorded: DocumentTotals) -> String? {
    if recorded.recordCount != recordCount {
      return "\(recordCount) versions are current, and the totals count \(recorded.recordCount)"
    }
    if recorded.byteCount != byteCount {
      return "the versions have \(byteCount) bytes, and the totals count \(recorded.byteCount)"
    }
    if recorded.historyByteCount != historyByteCount {
      return "the replaced versions have \(historyByteCount) bytes, and the totals count "
        + "\(recorded.historyByteCount)"
    }
    return nil
  }
}

/// Puts an account's totals right by its versions.
enum DocumentRepair {
  /// Returns how many totals were wrong: 0 or 1.
  static func perform(on account: Identifier, in database: Database) throws -> Int {
    let (recorded, sum) = try DocumentSum.read(of: account, in: database)
    guard sum.fault(of: recorded) != nil else { return 0 }
    try database.write(for: account) { transaction in
      _ = try LockedOwners(transaction, [account])
      var totals = try DocumentTotals(transaction, of: account)
      guard totals.number == recorded.number else {
        throw DatabaseError.busy(retryAfterSeconds: 1)
      }
      (totals.recordCount, totals.byteCount) = (sum.recordCount, sum.byteCount)
      totals.historyByteCount = sum.historyByteCount
      try totals.save(transaction, of: account)
    }
    return 1
  }
}
