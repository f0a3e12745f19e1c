import Accounts
import Base
import Storage

/// A device that the sender's account reaches: one of its own, or of an account that knows it and has not blocked it.
struct Receiver: Sendable {
  let publicKey: [UInt8]
  let account: Identifier
  let isRevoked: Bool
  let isSuspended: Bool
  /// What waits in its mailbox, and the part of it that is of the sender's account.
  let waiting: Load
  let waitingOfSender: Load

  /// Those of `keys` that an account reaches, in a few statements for all of them. Devices of one group reach each other
  /// whether or not their accounts are contacts, unless the receiver's has blocked the sender's.
  static func find(
    _ keys: [[UInt8]], from account: Identifier, inGroup isGroup: Bool = false,
    _ queryable: some Queryable
  ) throws -> [Receiver] {
    let isKnown = isGroup ? "TRUE" : Contacts.areContacts("d.account_id", "$1")
    return try queryable.rows(in: keys.map { .blob($0) }, .id(account)) { list in
      """
      SELECT d.public_key, d.account_id, d.revoked_ms, a.suspended_ms,
        coalesce(m.message_count, 0), coalesce(m.bytes, 0), coalesce(s.message_count, 0),
        coalesce(s.bytes, 0)
      FROM sync.device_keys AS d
      JOIN sync.accounts AS a ON a.id = d.account_id
      LEFT JOIN sync.mailboxes AS m ON m.public_key = d.public_key
      LEFT JOIN sync.mailbox_senders AS s ON s.sender_id = $1 AND s.public_key = d.public_key
      WHERE d.public_key IN (\(list)) AND (d.account_id = $1
        OR ((\(isKnown)) AND NOT EXISTS (
          SELECT 1 FROM sync.blocks AS b
          WHERE b.account_id = d.account_id AND b.blocked_id = $1)))
      """
    } row: { row in
      Receiver(
        publicKey: try row.blob(0), account: try row.id(1),
        isRevoked: try row.optionalInteger(2) != nil,
        isSuspended: try row.optionalInteger(3) != nil,
        waiting: Load(count: try row.integer(4), byteCount: try row.integer(5)),
        waitingOfSender: Load(count: try row.integer(6), byteCount: try row.integer(7)))
    }
  }

  static func isLive(
    _ key: [UInt8], of account: Identifier, _ queryable: some Queryable
  ) throws -> Bool {
    try queryable.first(
      """
      SELECT added_ms FROM sync.device_keys
      WHERE public_key = $1 AND account_id = $2 AND revoked_ms IS NULL
      """, .blob(key), .id(account)
    ) { row in try row.instant(0) } != nil
  }

  /// Why it takes no message of so many bytes; nil if it does.
  func refusal(of byteCount: Int64, from sender: Identifier) -> Undelivered? {
    if isRevoked { return .revoked }
    // Of its own account the sender is told as everywhere.
    if isSuspended, account != sender { return .suspended }
    let hasRoom =
      waiting.hasRoom(for: byteCount, below: MailboxBounds.ofDevice)
      && waitingOfSender.hasRoom(for: byteCount, below: MailboxBounds.ofSender)
    return hasRoom ? nil : .full
  }
}
