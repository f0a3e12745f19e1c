import Accounts
import Base
import Storage

/// What an account's messages and key packages add up to.
struct MailboxSum {
  private(set) var messages = Load()
  private(set) var packages = Load()

  /// The totals as they are stored, and the sum of the rows at the same moment.
  static func read(
    of account: Identifier, in database: Database
  ) throws -> (recorded: MailboxTotals, sum: MailboxSum) {
    try database.settled({ try MailboxTotals($0, of: account) }, by: \.number) {
      var sum = MailboxSum()
      try database.readSlices(
        """
        SELECT number, bytes FROM sync.mailbox_messages
        WHERE sender_id = $1 AND number > $2 ORDER BY number LIMIT $3
        """, of: account, after: .integer(0)
      ) { row in
        sum.messages += Load(count: 1, byteCount: try row.integer(1))
        return [.integer(try row.integer(0))]
      }
      try database.readSlices(
        """
        SELECT public_key, digest, bytes, claimed_ms FROM sync.key_packages
        WHERE account_id = $1 AND (public_key, digest) > ($2, $3)
        ORDER BY public_key, digest LIMIT $4
        """, of: account, after: .blob([]), .blob([])
      ) { row in
        if try row.optionalInteger(3) == nil {
          sum.packages += Load(count: 1, byteCount: try row.integer(2))
        }
        return [.blob(try row.blob(0)), .blob(try row.blob(1))]
      }
      return sum
    }
  }

  /// What of the totals does not fit; nil if everything does.
  func fault(of recorded: MailboxTotals) -> String? {
    Self.fault("messages", recorded.messages, messages)
      ?? Self.fault("key packages", recorded.packages, packages)
  }

  private static func fault(_ what: String, _ recorded: Load, _ sum: Load) -> String? {
    if recorded.count != sum.count {
      return "there are \(sum.count) \(what), and the totals count \(recorded.count)"
    }
    if recorded.byteCount != sum.byteCount {
      return "the \(what) have \(sum.byteCount) bytes, and the totals count \(recorded.byteCount)"
    }
    return nil
  }
}

/// Puts an account's totals right by its messages and key packages, and its mailboxes by what is in them.
enum MailboxRepair {
  /// Returns how many totals and mailboxes were wrong.
  static func perform(on account: Identifier, in database: Database) throws -> Int {
    try repairTotals(of: account, in: database) + repairMailboxes(of: account, in: database)
  }

  private static func repairMailboxes(
    of account: Identifier, in database: Database
  ) throws -> Int {
    var (count, last) = (0, [UInt8]())
    while let key = try database.read({ try MailboxAudit.next(after: last, of: account, $0) }) {
      last = key
      guard try database.read({ try MailboxAudit.fault(of: key, $0) }) != nil else { continue }
      try database.write(for: account) { transaction in
        _ = try LockedOwners(transaction, [account])
        try MailboxRows(transaction).recount(key)
      }
      count += 1
    }
    return count
  }

  /// Returns how many totals were wrong: 0 or 1.
  private static func repairTotals(of account: Identifier, in database: Database) throws -> Int {
    let (recorded, sum) = try MailboxSum.read(of: account, in: database)
    guard sum.fault(of: recorded) != nil else { return 0 }
    try database.write(for: account) { transaction in
      _ = try LockedOwners(transaction, [account])
      var totals = try MailboxTotals(transaction, of: account)
      guard totals.number == recorded.number else {
        throw DatabaseError.busy(retryAfterSeconds: 1)
      }
      (totals.messages, totals.packages) = (sum.messages, sum.packages)
      try totals.save(transaction, of: account)
    }
    return 1
  }
}

/// Compares the mailboxes of an account's devices with the messages in them, one mailbox in a snapshot.
enum MailboxAudit {
  static func faults(of account: Identifier, in database: Database) throws -> [String] {
    var (faults, last) = ([String](), [UInt8]())
    while faults.count < Faults.countMax,
      let key = try database.read({ try next(after: last, of: account, $0) })
    {
      if let fault = try database.read({ try fault(of: key, $0) }) {
        faults.append("of mailboxes, \(fault)")
      }
      last = key
    }
    return faults
  }

  /// The key of the account's next mailbox; nil after the last one.
  static func next(
    after key: [UInt8], of account: Identifier, _ queryable: some Queryable
  ) throws -> [UInt8]? {
    try queryable.first(
      """
      SELECT public_key FROM sync.mailboxes WHERE account_id = $1 AND public_key > $2
      ORDER BY public_key LIMIT 1
      """, .id(account), .blob(key)
    ) { row in try row.blob(0) }
  }

  static func fault(of key: [UInt8], _ queryable: some Queryable) throws -> String? {
    let entries = try loads(
      """
      SELECT sender_id, count(*), CAST(sum(bytes) AS BIGINT) FROM sync.mailbox_entries
      WHERE public_key = $1 GROUP BY sender_id
      """, key, queryable)
    let senders = try loads(
      """
      SELECT sender_id, message_count, bytes FROM sync.mailbox_senders WHERE public_key = $1
      """, key, queryable)
    let name = Hex.encode(key)
    if entries != senders { return "the mailbox of \(name) counts its senders wrongly" }
    let recorded = try queryable.first(
      "SELECT message_count, bytes FROM sync.mailboxes WHERE public_key = $1", .blob(key)
    ) { row in Load(count: try row.integer(0), byteCount: try row.integer(1)) }
    let sum = entries.values.reduce(into: Load()) { $0 += $1 }
    return recorded == sum ? nil : "the mailbox of \(name) counts its messages wrongly"
  }

  private static func loads(
    _ sql: String, _ key: [UInt8], _ queryable: some Queryable
  ) throws -> [Identifier: Load] {
    let loads = try queryable.rows(sql, .blob(key)) { row in
      (try row.id(0), Load(count: try row.integer(1), byteCount: try row.integer(2)))
    }
    return Dictionary(uniqueKeysWithValues: loads)
  }
}
