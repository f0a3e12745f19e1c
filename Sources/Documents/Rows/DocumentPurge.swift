import Accounts
import Base
import Storage
import Tiers

/// Deletes replaced versions after the retention of their owner's plan, and deletions once every device has them, or after
/// the retention of deleted records.
///
/// An account with any is looked at when its oldest is due, and at least once a day if it keeps replaced versions,
/// because its plan may have changed. A pull has it looked at when the last device has a deletion.
enum DocumentPurge {
  static let queue = FailingItems.Queue("documents")
  private static let sliceCountMax = 250
  static let pauseMax = Instant.Span.days(1)

  /// Deletes one slice of an account's rows, and plans when to look again.
  static func sweep(
    _ transaction: Transaction, _ account: Identifier, host: ProtocolHost, now: Instant
  ) throws {
    var owners = try LockedOwners(transaction, [account])
    guard owners.accounts.contains(account) else { return }
    var slice = Slice()
    let rows = VersionRows(transaction, of: account)
    let retention = try Retention(transaction, account, catalogue: host.catalogue, now: now)
    for era in retention.eras {
      let oldest = try rows.oldest(replacedIn: era, limit: sliceCountMax - slice.leaving.count)
      slice.take(oldest, at: now) { retention.end(ofReplaced: $0.moment) }
    }
    if let next = slice.next { slice.look(at: min(next, now + pauseMax)) }
    let replacedCount = slice.leaving.count
    let readers = try DocumentReaders(transaction, of: account)
    slice.take(try rows.oldestDeletions(limit: sliceCountMax), at: now) { deletion in
      let end = deletion.moment + host.limits.deletionHorizon
      return min(end, readers.end(of: deletion) ?? end)
    }
    let deletions = slice.leaving.dropFirst(replacedCount)
    for deletion in deletions {
      try DocumentDevice.collect(
        transaction, deletion.author, of: account, through: deletion.counter)
    }
    try rows.delete(slice.leaving.map(\.number))
    var totals = try DocumentTotals(transaction, of: account)
    totals.due =
      replacedCount == sliceCountMax || deletions.count == sliceCountMax ? now : slice.next
    if let first = slice.leaving.first {
      let released = slice.leaving.compactMap {
        ReleasedText($0.text, writer: $0.writer, holder: account)
      }
      let texts = DocumentTexts(transaction)
      totals.historyByteCount -= try texts.charge(of: Array(slice.leaving.prefix(replacedCount)))
      let freed = try texts.release(released, holding: [account])
      try totals.collect(
        slice.leaving.reduce(freed[account] ?? 0) { $0 + $1.byteCount },
        records: Int64(deletions.count), fee: host.catalogue.metadataFeeByteCount,
        file: first.document, of: account, &owners)
      try owners.save(transaction, now: now)
    }
    try totals.save(transaction, of: account)
  }

  /// What leaves in a slice, and when the first of the rest is due.
  private struct Slice {
    private(set) var leaving: [LeavingVersion] = []
    private(set) var next: Instant?

    /// Takes what is due of versions, the oldest first.
    mutating func take(
      _ oldest: [LeavingVersion], at now: Instant, end: (LeavingVersion) -> Instant
    ) {
      for version in oldest {
        let end = end(version)
        guard end <= now else { return look(at: end) }
        leaving.append(version)
      }
    }

    mutating func look(at moment: Instant) { next = min(next ?? moment, moment) }
  }

  /// Erases one slice of an account's documents. Returns false if nothing was left.
  static func erase(
    _ transaction: Transaction, _ account: Identifier, now: Instant
  ) throws -> Bool {
    let versions = try transaction.rows(
      """
      SELECT seq, text_id, writer_id FROM sync.document_versions WHERE account_id = $1
      ORDER BY seq LIMIT $2
      """, .id(account), .integer(Transaction.erasedCountMax)
    ) { row in
      (
        number: try row.integer(0), text: try row.optionalID(1), writer: try row.optionalID(2)
      )
    }
    try VersionRows(transaction, of: account).delete(versions.map(\.number))
    // Its own texts go with the account.
    _ = try DocumentTexts(transaction).release(
      versions.filter { $0.writer != nil }.compactMap {
        ReleasedText($0.text, writer: $0.writer, holder: account)
      }, holding: [])
    return try !versions.isEmpty
      || transaction.eraseSlice(
        of: "document_texts", by: "id", where: "owner_id", is: account)
      || transaction.eraseContents(of: "document_blobs", by: "id", of: account, now: now)
      || transaction.eraseSlice(
        of: "document_releases", by: "owner_id, item_id, holder_id", where: "owner_id", is: account)
      || transaction.eraseSlice(
        of: "document_devices", by: "account_id, author_key", where: "account_id", is: account)
      || transaction.eraseSlice(
        of: "document_readers", by: "account_id, device_key", where: "account_id", is: account)
      || transaction.eraseSlice(
        of: "document_totals", by: "account_id", where: "account_id", is: account)
  }
}
