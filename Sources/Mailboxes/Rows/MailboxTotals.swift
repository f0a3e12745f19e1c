import Accounts
import Base
import Storage

/// What an account is charged for messages that wait and key packages. Who changes it must lock the account's row.
struct MailboxTotals: Equatable, Sendable {
  /// The number of the account's latest change of either.
  var number: Int64 = 0
  /// The messages, each charged as a record, and their charge besides that.
  var messages = Load()
  /// The same of the key packages.
  var packages = Load()

  init(_ queryable: some Queryable, of account: Identifier) throws {
    let found = try queryable.first(
      """
      SELECT seq, message_count, message_bytes, package_count, package_bytes
      FROM sync.mailbox_totals WHERE account_id = $1
      """, .id(account)
    ) { row in
      (
        try row.integer(0),
        Load(count: try row.integer(1), byteCount: try row.integer(2)),
        Load(count: try row.integer(3), byteCount: try row.integer(4))
      )
    }
    if let found { (number, messages, packages) = found }
  }

  func save(_ transaction: Transaction, of account: Identifier) throws {
    try transaction.execute(
      """
      INSERT INTO sync.mailbox_totals
        (account_id, seq, message_count, message_bytes, package_count, package_bytes)
      VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (account_id) DO UPDATE SET seq = excluded.seq,
        message_count = excluded.message_count, message_bytes = excluded.message_bytes,
        package_count = excluded.package_count, package_bytes = excluded.package_bytes
      """, .id(account), .integer(number), .integer(messages.count),
      .integer(messages.byteCount), .integer(packages.count), .integer(packages.byteCount))
  }
}

extension News.Topic {
  /// Messages in mailboxes, and key packages: what `GET /v1/mailbox` sends.
  static let mailbox = News.Topic("mailbox")
}

struct MailboxCharge: Sendable {
  var messages = Load()
  var packages = Load()

  private var recordCount: Int64 { messages.count + packages.count }

  func byteCount(fee: Int64) -> Int64 {
    messages.byteCount + packages.byteCount + recordCount * fee
  }

  /// Changes the totals and the usage of an account whose row is held. Returns the last of the `count` numbers that it
  /// takes. `file` names in the usage ledger what it is about. `quietly`: no device is woken by it. The caller saves
  /// the owners.
  @discardableResult
  func make(
    _ transaction: Transaction, _ owners: inout LockedOwners, of account: Identifier,
    reason: UsageReason, file: Identifier, fee: Int64, count: Int = 1, quietly: Bool = false
  ) throws -> Int64 {
    var totals = try MailboxTotals(transaction, of: account)
    totals.messages += messages
    totals.packages += packages
    totals.number = try owners.change(account) { owner in
      let number = owner.takeSequences(count, for: .mailbox, quietly: quietly) + Int64(count)
      owner.charge(
        byteCount(fee: fee), records: recordCount, reason: reason, file: file, sequence: number)
      return number
    }
    try totals.save(transaction, of: account)
    return totals.number
  }
}
