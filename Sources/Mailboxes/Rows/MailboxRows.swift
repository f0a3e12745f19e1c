import Accounts
import Base
import Storage

/// Names a message: its sender's account, and its number there.
struct Mail: Hashable, Comparable, Sendable {
  let sender: Identifier
  let number: Int64

  static func < (one: Mail, other: Mail) -> Bool {
    (one.sender, one.number) < (other.sender, other.number)
  }
}

struct MailboxEntry: Sendable {
  /// The number of the receiver's account under which it arrived.
  let number: Int64
  let mail: Mail
  let byteCount: Int64

  static let columns = "number, sender_id, message_number, bytes"

  init(row: borrowing Row) throws {
    number = try row.integer(0)
    mail = Mail(sender: try row.id(1), number: try row.integer(2))
    byteCount = try row.integer(3)
  }
}

/// Puts messages into mailboxes and takes them out, with the sums. The rows of the receivers' accounts are held.
struct MailboxRows {
  private let transaction: Transaction

  init(_ transaction: Transaction) { self.transaction = transaction }

  /// The accounts in whose mailboxes a message is: at most one for each receiver.
  static func accounts(
    holding mail: Mail, _ queryable: some Queryable
  ) throws -> Set<Identifier> {
    Set(
      try queryable.rows(
        """
        SELECT m.account_id FROM sync.mailbox_entries AS e
        JOIN sync.mailboxes AS m ON m.public_key = e.public_key
        WHERE e.sender_id = $1 AND e.message_number = $2
        """, .id(mail.sender), .integer(mail.number)
      ) { row in try row.id(0) })
  }

  func add(
    _ mail: Mail, byteCount: Int64, to keys: [[UInt8]], of account: Identifier, at number: Int64
  ) throws {
    try transaction.insert(
      keys.map { [.blob($0), .integer(number), .integer(mail.number), .integer(byteCount)] },
      of: mail.sender,
      into: "mailbox_entries (sender_id, public_key, number, message_number, bytes)")
    let counted = keys.map { [SQLValue.blob($0), .integer(1), .integer(byteCount)] }
    try transaction.insert(
      counted, of: account, into: "mailboxes (account_id, public_key, message_count, bytes)",
      conflict: """
        ON CONFLICT (public_key) DO UPDATE SET
          message_count = mailboxes.message_count + excluded.message_count,
          bytes = mailboxes.bytes + excluded.bytes
        """)
    try transaction.insert(
      counted, of: mail.sender,
      into: "mailbox_senders (sender_id, public_key, message_count, bytes)",
      conflict: """
        ON CONFLICT (sender_id, public_key) DO UPDATE SET
          message_count = mailbox_senders.message_count + excluded.message_count,
          bytes = mailbox_senders.bytes + excluded.bytes
        """)
  }

  func note(full keys: [[UInt8]], now: Instant) throws {
    try transaction.execute(in: keys.map { .blob($0) }, .instant(now)) { list in
      """
      UPDATE sync.mailboxes SET refused_count = refused_count + 1, refused_ms = $1
      WHERE public_key IN (\(list))
      """
    }
  }

  /// Takes messages out of a mailbox, as its device's acknowledgement does. Those with no receiver left go at `end`.
  func take(_ entries: [MailboxEntry], from key: [UInt8], end: Instant) throws {
    try transaction.execute(in: entries.map { .integer($0.number) }, .blob(key)) { list in
      "DELETE FROM sync.mailbox_entries WHERE public_key = $1 AND number IN (\(list))"
    }
    try subtract(Load(entries), from: [key])
    // In the order of messages, so that no two receivers wait for each other.
    let bySender = Dictionary(grouping: entries, by: \.mail.sender).sorted { $0.key < $1.key }
    for (sender, entries) in bySender {
      try subtract(Load(entries), from: [key], ofSender: sender)
      for entry in entries.sorted(by: { $0.mail < $1.mail }) {
        try transaction.execute(
          """
          UPDATE sync.mailbox_messages SET waiting_count = waiting_count - 1,
            due_ms = CASE WHEN waiting_count = 1 THEN $3 ELSE due_ms END
          WHERE sender_id = $1 AND number = $2
          """, .id(sender), .integer(entry.mail.number), .instant(end))
      }
    }
  }

  /// Takes a message out of all mailboxes that it is still in. Its own row stays as it was. Returns the devices' keys.
  func takeBack(_ mail: Mail) throws -> [[UInt8]] {
    let found = try transaction.rows(
      """
      DELETE FROM sync.mailbox_entries WHERE sender_id = $1 AND message_number = $2
      RETURNING public_key, bytes
      """, .id(mail.sender), .integer(mail.number)
    ) { row in (key: try row.blob(0), byteCount: try row.integer(1)) }
    guard let byteCount = found.first?.byteCount else { return [] }
    let keys = found.map(\.key).sorted { $0.lexicographicallyPrecedes($1) }
    let load = Load(count: 1, byteCount: byteCount)
    try subtract(load, from: keys)
    try subtract(load, from: keys, ofSender: mail.sender)
    return keys
  }

  func recount(_ key: [UInt8]) throws {
    try transaction.execute(
      "DELETE FROM sync.mailbox_senders WHERE public_key = $1", .blob(key))
    try transaction.execute(
      """
      INSERT INTO sync.mailbox_senders (sender_id, public_key, message_count, bytes)
      SELECT sender_id, public_key, count(*), CAST(sum(bytes) AS BIGINT) FROM sync.mailbox_entries
      WHERE public_key = $1 GROUP BY sender_id, public_key
      """, .blob(key))
    try transaction.execute(
      """
      UPDATE sync.mailboxes SET
        message_count = (SELECT count(*) FROM sync.mailbox_entries AS e WHERE e.public_key = $1),
        bytes = (SELECT CAST(coalesce(sum(e.bytes), 0) AS BIGINT) FROM sync.mailbox_entries AS e
          WHERE e.public_key = $1)
      WHERE public_key = $1
      """, .blob(key))
  }

  private func subtract(_ load: Load, from keys: [[UInt8]]) throws {
    try transaction.execute(
      in: keys.map { .blob($0) }, .integer(load.count), .integer(load.byteCount)
    ) { list in
      """
      UPDATE sync.mailboxes SET message_count = message_count - $1, bytes = bytes - $2,
        refused_ms = NULL
      WHERE public_key IN (\(list))
      """
    }
  }

  /// Takes from the part of them that is of one account.
  private func subtract(
    _ load: Load, from keys: [[UInt8]], ofSender sender: Identifier
  ) throws {
    let keys = keys.map { SQLValue.blob($0) }
    try transaction.execute(
      in: keys, .id(sender), .integer(load.count), .integer(load.byteCount)
    ) { list in
      """
      UPDATE sync.mailbox_senders SET message_count = message_count - $2, bytes = bytes - $3
      WHERE sender_id = $1 AND public_key IN (\(list))
      """
    }
    try transaction.execute(in: keys, .id(sender)) { list in
      """
      DELETE FROM sync.mailbox_senders
      WHERE sender_id = $1 AND public_key IN (\(list)) AND message_count = 0
      """
    }
  }
}

extension Load {
  fileprivate init(_ entries: [MailboxEntry]) {
    self.init(
      count: Int64(entries.count), byteCount: entries.reduce(0) { $0 + $1.byteCount })
  }
}
