import Accounts
import Base
import Storage

/// A device's word that it needs a message no more.
struct Acknowledgement: Sendable {
  let number: Int64
  /// Why the device could not use it; nil if it could.
  let error: String?

  static let errorCharacterCountMax = 64

  init(number: Int64, error: String?) throws(MailboxRefusal) {
    if let error {
      let isWord = error.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
          UInt8(ascii: "_"):
          true
        default: false
        }
      }
      guard isWord, 1...Self.errorCharacterCountMax ~= error.utf8.count else {
        throw .errorInvalid(max: Self.errorCharacterCountMax)
      }
    }
    self.number = number
    self.error = error
  }

  /// Takes the message out of the mailbox. The account's row is held. Returns false if it is not there any more.
  func perform(
    _ transaction: Transaction, by key: [UInt8], of account: Identifier, now: Instant
  ) throws -> Bool {
    let entry = try transaction.first(
      """
      SELECT \(MailboxEntry.columns) FROM sync.mailbox_entries WHERE public_key = $1 AND number = $2
      """, .blob(key), .integer(number)
    ) { row in try MailboxEntry(row: row) }
    guard let entry else { return false }
    try MailboxRows(transaction).take([entry], from: key, end: now + MailboxBounds.repeatSpan)
    if let error {
      try transaction.execute(
        """
        INSERT INTO sync.mailbox_totals (account_id, seq, failure_count, failure, failed_ms)
        VALUES ($1, 0, 1, $2, $3)
        ON CONFLICT (account_id) DO UPDATE SET failure_count = mailbox_totals.failure_count + 1,
          failure = excluded.failure, failed_ms = excluded.failed_ms
        """, .id(account), .text(error), .instant(now))
    }
    return true
  }
}
