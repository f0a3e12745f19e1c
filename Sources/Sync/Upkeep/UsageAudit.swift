package import Accounts
package import Base
package import Storage

/// Compares an account's recorded usage with its live records while writers continue.
///
/// Rows are read in slices by their numbers, each in a snapshot. A changed file gets the account's next number and
/// leaves a gap. So the last snapshot settles the result by reading only slices with fewer rows than before, the rows
/// after the last slice, and the usage ledger.
package struct UsageAudit {
  package let account: Identifier
  private let fee: Int64
  private let protocols: [any ProtocolRoom.Type]
  private let sliceRowCount: Int64
  /// The account's number when the audit began. Later changes are read in the last snapshot.
  private let lastNumber: Int64
  private var slices: [Slice] = []
  private var rowsReadTo: Int64 = 0

  package static let sliceRowCountUsual: Int64 = 10_000

  /// Rows with numbers above `after` and up to `through`.
  private struct Slice {
    let after: Int64
    var through: Int64
    /// The rows that are charged.
    var rowCount: Int64 = 0
    var weights: [String: UsageWeight] = [:]
    /// Of the earlier versions of documents.
    var history = UsageWeight()
    /// Of the deleted records in the trash.
    var trash = UsageWeight()
  }

  /// Nil if there is no such account. `fee` is the charge for each live record besides its content. `protocols` are all
  /// that may charge it.
  package init?(
    _ reader: some Queryable, _ account: Identifier, fee: Int64,
    protocols: [any ProtocolRoom.Type], sliceRowCount: Int64 = sliceRowCountUsual
  ) throws {
    guard let recorded = try Recorded.find(reader, account) else { return nil }
    self.account = account
    self.fee = fee
    self.protocols = protocols
    self.sliceRowCount = sliceRowCount
    lastNumber = recorded.number
  }

  /// Whether only the last snapshot is missing.
  package var isRead: Bool { rowsReadTo >= lastNumber }

  /// Reads one more slice.
  package mutating func readSlice(_ reader: some Queryable) throws {
    guard !isRead else { return }
    let slice = try weigh(reader, after: rowsReadTo, through: lastNumber)
    slices.append(slice)
    rowsReadTo = slice.through
  }

  /// The result at this snapshot, the first after the last slice; nil if the account is gone.
  package mutating func settle(_ reader: some Queryable) throws -> UsageFinding? {
    guard let recorded = try Recorded.find(reader, account) else { return nil }
    var weights: [String: UsageWeight] = [:]
    var history = UsageWeight()
    var trash = UsageWeight()
    func add(_ slice: Slice) {
      weights.merge(slice.weights) { $0 + $1 }
      history = history + slice.history
      trash = trash + slice.trash
    }
    for slice in slices {
      let isWhole = try rowCount(reader, in: slice) == slice.rowCount
      let current =
        isWhole ? slice : try weigh(reader, after: slice.after, through: slice.through)
      add(current)
    }
    while rowsReadTo < recorded.number {
      let slice = try weigh(reader, after: rowsReadTo, through: recorded.number)
      add(slice)
      rowsReadTo = slice.through
    }
    weights.merge(try protocols.weights(of: account, reading: reader)) { $0 + $1 }
    return UsageFinding(
      account: account, number: recorded.number, recordedByteCount: recorded.byteCount,
      recordedRecordCount: recorded.recordCount,
      recordedHistoryByteCount: recorded.historyByteCount,
      recordedTrashByteCount: recorded.trashByteCount, feeByteCount: fee, weights: weights,
      history: history, trash: trash, folders: try folders(reader),
      ledger: try ledger(reader))
  }

  /// Folders that are yet to be counted are neither right nor wrong.
  private func folders(_ reader: some Queryable) throws -> [UsageFinding.Folder] {
    try FolderCap.all(reader, of: account).filter(\.isCounted).map { cap in
      let weight = try FolderWeight(below: cap.folder, reader, fee: fee)
      return UsageFinding.Folder(
        folder: cap.folder, recordedByteCount: cap.postedByteCount,
        trueByteCount: weight?.byteCount ?? 0)
    }
  }

  private func rowCount(_ reader: some Queryable, in slice: Slice) throws -> Int64 {
    try reader.number(
      """
      SELECT (SELECT count(*) FROM sync.files WHERE owner_id = $1 AND seq > $2 AND seq <= $3
          AND (deleted = 0 OR trash_id IS NOT NULL))
        + (SELECT count(*) FROM sync.versions WHERE owner_id = $1 AND seq > $2 AND seq <= $3)
      """, .id(account), .integer(slice.after), .integer(slice.through))
  }

  /// Adds up at most one slice of rows; its end is `through` if those were all.
  private func weigh(
    _ reader: some Queryable, after: Int64, through: Int64
  ) throws -> Slice {
    var slice = Slice(after: after, through: through)
    var last = after
    var rowCount: Int64 = 0
    try reader.query(
      """
      SELECT seq, kind, content_bytes, deleted, trash_id FROM sync.files
      WHERE owner_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4
      """,
      [.id(account), .integer(after), .integer(through), .integer(sliceRowCount)]
    ) { row in
      last = try row.integer(0)
      rowCount += 1
      let (kind, byteCount) = (try row.text(1), try row.integer(2))
      if try row.integer(3) == 0 {
        slice.rowCount += 1
        slice.weights[kind, default: .init()].add(contentByteCount: byteCount)
      } else if try row.optionalID(4) != nil {
        slice.rowCount += 1
        slice.trash.add(contentByteCount: byteCount)
      }
      return true
    }
    if rowCount == sliceRowCount { slice.through = last }
    let versions = try weighVersions(reader, in: slice)
    slice.history = versions
    slice.rowCount += versions.recordCount
    return slice
  }

  /// A version keeps its number, so a slice that has as many as before has the same.
  private func weighVersions(
    _ reader: some Queryable, in slice: Slice
  ) throws -> UsageWeight {
    try reader.first(
      """
      SELECT count(*), CAST(coalesce(sum(content_bytes), 0) AS BIGINT) FROM sync.versions
      WHERE owner_id = $1 AND seq > $2 AND seq <= $3
      """, .id(account), .integer(slice.after), .integer(slice.through)
    ) { row in
      UsageWeight(recordCount: try row.integer(0), contentByteCount: try row.integer(1))
    } ?? UsageWeight()
  }

  private func ledger(_ reader: some Queryable) throws -> [String: UsageFinding.Posted] {
    let sums = try reader.rows(
      """
      SELECT reason, CAST(sum(entry_count) AS BIGINT), CAST(sum(delta_bytes) AS BIGINT)
      FROM sync.usage_entries WHERE owner_id = $1 GROUP BY reason
      """, .id(account)
    ) { row in
      (
        try row.text(0),
        UsageFinding.Posted(entryCount: try row.integer(1), byteCount: try row.integer(2))
      )
    }
    return Dictionary(uniqueKeysWithValues: sums)
  }

  private struct Recorded {
    let number: Int64
    let byteCount: Int64
    let recordCount: Int64
    let historyByteCount: Int64
    let trashByteCount: Int64

    static func find(_ reader: some Queryable, _ account: Identifier) throws -> Recorded? {
      try reader.first(
        """
        SELECT seq, usage_bytes, record_count, history_bytes, trash_bytes FROM sync.accounts
        WHERE id = $1
        """, .id(account)
      ) { row in
        Recorded(
          number: try row.integer(0), byteCount: try row.integer(1),
          recordCount: try row.integer(2), historyByteCount: try row.integer(3),
          trashByteCount: try row.integer(4))
      }
    }
  }
}

/// An account's recorded usage at one moment, and the sum of its rows at the same moment.
package struct UsageFinding: Sendable, Equatable {
  /// The usage ledger's entries of one reason.
  package struct Posted: Sendable, Equatable {
    package let entryCount: Int64
    package let byteCount: Int64
  }

  /// What a capped folder holds.
  package struct Folder: Sendable, Equatable {
    package let folder: Identifier
    package let recordedByteCount: Int64
    package let trueByteCount: Int64
  }

  package let account: Identifier
  /// The account's number at that moment.
  package let number: Int64
  package let recordedByteCount: Int64
  package let recordedRecordCount: Int64
  package let recordedHistoryByteCount: Int64
  package let recordedTrashByteCount: Int64
  /// The charge for each live record besides its content.
  package let feeByteCount: Int64
  /// By the records' type.
  package let weights: [String: UsageWeight]
  /// Earlier versions of documents. They are charged without a fee.
  package let history: UsageWeight
  /// Deleted records in the trash. They are charged like live ones.
  package let trash: UsageWeight
  package let folders: [Folder]
  /// By the entries' reason.
  package let ledger: [String: Posted]

  package var trueRecordCount: Int64 {
    weights.values.reduce(trash.recordCount) { $0 + $1.recordCount }
  }

  package var trueTrashByteCount: Int64 {
    trash.contentByteCount + feeByteCount * trash.recordCount
  }

  package var trueByteCount: Int64 {
    let kept = history.contentByteCount + trash.contentByteCount
    return weights.values.reduce(feeByteCount * trueRecordCount + kept) {
      $0 + $1.contentByteCount
    }
  }

  package var ledgerByteCount: Int64 { ledger.values.reduce(0) { $0 + $1.byteCount } }

  /// Whether totals, ledger and count agree with the rows.
  package var isRight: Bool {
    recordedByteCount == trueByteCount && ledgerByteCount == trueByteCount
      && recordedRecordCount == trueRecordCount
      && recordedHistoryByteCount == history.contentByteCount
      && recordedTrashByteCount == trueTrashByteCount
      && folders.allSatisfy { $0.recordedByteCount == $0.trueByteCount }
  }
}
