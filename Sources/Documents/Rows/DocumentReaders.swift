import Accounts
import Base
import Requests
import Storage

/// Up to where the devices of an account have everything, as far as that lets deletions go before their retention ends.
///
/// A pull whose clock lacks nothing says so. It is recorded hourly at most, and only while a newer deletion waits.
struct DocumentReaders: Sendable {
  /// By the keys that are not revoked, at most `Device.countMax`.
  private let readers: [[UInt8]: Reading]
  /// Contacts may send versions of what the account deleted, without a chance to know.
  private let hasContacts: Bool

  private struct Reading {
    /// The number of the account's sequence; 0 for a device that has not said so.
    let number: Int64
    let told: Instant
  }

  private static let pause = Instant.Span.hours(1)
  /// No request is signed for so long. So what a device pushed before it said so has arrived.
  private static let grace = Instant.Span.minutes(10)

  init(_ queryable: some Queryable, of account: Identifier) throws {
    hasContacts = try Contacts.exist(of: account, queryable)
    let rows = try queryable.rows(
      """
      SELECT device_keys.public_key, coalesce(document_readers.seq, 0),
        coalesce(document_readers.told_ms, 0)
      FROM sync.device_keys
      LEFT JOIN sync.document_readers ON document_readers.account_id = device_keys.account_id
        AND document_readers.device_key = device_keys.public_key
      WHERE device_keys.account_id = $1 AND device_keys.revoked_ms IS NULL
      """, .id(account)
    ) { row in
      (try row.blob(0), Reading(number: try row.integer(1), told: try row.instant(2)))
    }
    readers = Dictionary(uniqueKeysWithValues: rows)
  }

  /// When a deletion goes that every device has; nil for one that a device lacks.
  func end(of deletion: LeavingVersion) -> Instant? {
    guard !hasContacts, let least = readers.values.map(\.number).min(), deletion.number <= least
    else {
      return nil
    }
    return readers.values.map(\.told).max().map { $0 + Self.grace }
  }

  /// Whether it is worth recording that a device has everything up to a number.
  func lacks(_ number: Int64, of device: [UInt8], at now: Instant) -> Bool {
    guard !hasContacts, let reader = readers[device] else { return false }
    return reader.number < number && reader.told <= now - Self.pause
  }
}

/// What the pull of a device that lacks nothing means for deletions that wait.
struct KnownDeletions: Sendable {
  private let account: Identifier
  private let device: [UInt8]
  /// The number of the newest deletion; nil if it is recorded that the device has it, or was a moment ago.
  private let number: Int64?

  init?(_ reader: Reader, _ caller: Caller, now: Instant) throws {
    (account, device) = (caller.account, caller.publicKey)
    let rows = VersionRows(reader, of: account)
    guard let newest = try rows.newestDeletion() else { return nil }
    let readers = try DocumentReaders(reader, of: account)
    if readers.lacks(newest, of: device, at: now) {
      number = newest
    } else {
      // The last device that lacked a deletion may have been revoked.
      guard let oldest = try rows.oldestDeletions(limit: 1).first,
        let end = readers.end(of: oldest),
        let due = try DocumentTotals(reader, of: account).due, due > max(end, now)
      else { return nil }
      number = nil
    }
  }

  /// Records it, and has the sweep look when the oldest deletion may go.
  func save(_ transaction: Transaction, now: Instant) throws {
    guard try LockedOwners(transaction, [account]).accounts.contains(account) else { return }
    var readers = try DocumentReaders(transaction, of: account)
    // Asked again, because the key may be gone since, with all that the account has.
    if let number, readers.lacks(number, of: device, at: now) {
      try transaction.execute(
        """
        INSERT INTO sync.document_readers (account_id, device_key, seq, told_ms)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT (account_id, device_key)
          DO UPDATE SET seq = excluded.seq, told_ms = excluded.told_ms
        """, .id(account), .blob(device), .integer(number), .instant(now))
      readers = try DocumentReaders(transaction, of: account)
    }
    guard
      let oldest = try VersionRows(transaction, of: account).oldestDeletions(limit: 1).first,
      let end = readers.end(of: oldest)
    else { return }
    var totals = try DocumentTotals(transaction, of: account)
    totals.look(at: end)
    try totals.save(transaction, of: account)
  }
}
