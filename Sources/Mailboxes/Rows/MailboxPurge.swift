import Accounts
import Base
import Storage
import Tiers

/// Ends messages that were acknowledged or expired, mailboxes of revoked keys, and the traces of given key packages.
enum MailboxPurge {
  static let queue = FailingItems.Queue("mailboxes")
  private static let sliceCountMax = 250
  /// The most expired messages that one slice ends. Each takes some ten statements.
  private static let expiredCountMax = 50
  /// For how long a given key package is known, so that its device does not offer it again.
  private static let givenSpan = Instant.Span.days(1)

  /// An account with anything that is due; nil if there is none.
  static func next(_ transaction: Transaction, now: Instant) throws -> Identifier? {
    func first(_ column: String, in table: String, by moment: String, until end: Instant) throws
      -> Identifier?
    {
      let isDue = FailingItems.isDue(queue, "\(table).\(column)", at: "$1")
      return try transaction.first(
        """
        SELECT \(column) FROM sync.\(table) WHERE \(moment) IS NOT NULL AND \(moment) <= $2
          AND \(isDue)
        ORDER BY \(moment) LIMIT 1
        """, .instant(now), .instant(end)
      ) { row in try row.id(0) }
    }
    return try first("sender_id", in: "mailbox_messages", by: "due_ms", until: now)
      ?? first("account_id", in: "mailboxes", by: "closed_ms", until: now)
      ?? first("account_id", in: "key_packages", by: "claimed_ms", until: now - givenSpan)
  }

  /// Ends one slice of each kind of an account. Returns in how many mailboxes a message expired.
  static func sweep(
    _ transaction: Transaction, _ account: Identifier, host: ProtocolHost, now: Instant
  ) throws -> Int {
    let expiredCount = try endMessages(transaction, account, host: host, now: now)
    try close(transaction, account, host: host, now: now)
    try transaction.execute(
      """
      DELETE FROM sync.key_packages WHERE (public_key, digest) IN (
        SELECT public_key, digest FROM sync.key_packages
        WHERE claimed_ms IS NOT NULL AND claimed_ms <= $2 AND account_id = $1 LIMIT $3)
      """, .id(account), .instant(now - givenSpan), .integer(Int64(sliceCountMax)))
    return expiredCount
  }

  private struct DueMessage: Sendable {
    let mail: Mail
    let due: Instant
    let id: Identifier
    let senderKey: [UInt8]
    let waitingCount: Int64
    let byteCount: Int64
    let refusedByteCount: Int64
    /// Whether it has told its sender that it expired.
    let isTelling: Bool

    static let columns =
      "number, id, sender_key, waiting_count, bytes, length(refused), length(expired), due_ms"

    init(row: borrowing Row, of account: Identifier) throws {
      mail = Mail(sender: account, number: try row.integer(0))
      id = try row.id(1)
      senderKey = try row.blob(2)
      waitingCount = try row.integer(3)
      byteCount = try row.integer(4)
      refusedByteCount = try row.integer(5)
      isTelling = try row.optionalInteger(6) != nil
      due = try row.instant(7)
    }
  }

  /// Ends messages that nobody waits for, and a slice of the expired ones. Returns in how many mailboxes one expired.
  private static func endMessages(
    _ transaction: Transaction, _ account: Identifier, host: ProtocolHost, now: Instant
  ) throws -> Int {
    let due = try transaction.rows(
      """
      SELECT number, waiting_count FROM sync.mailbox_messages
      WHERE sender_id = $1 AND due_ms <= $2 ORDER BY due_ms, number LIMIT $3
      """, .id(account), .instant(now), .integer(Int64(sliceCountMax))
    ) { row in (number: try row.integer(0), waitingCount: try row.integer(1)) }
    guard !due.isEmpty else { return 0 }
    let expired = slice(ofExpired: due.filter { $0.waitingCount > 0 })
    let holders = try expired.reduce(into: Set([account])) { accounts, number in
      accounts.formUnion(
        try MailboxRows.accounts(holding: Mail(sender: account, number: number), transaction))
    }
    var owners = try LockedOwners(transaction, holders)
    let numbers = due.filter { $0.waitingCount == 0 }.map(\.number) + expired
    // Read again, because an acknowledgement may have come meanwhile.
    let messages = try transaction.rows(
      in: numbers.map { .integer($0) }, .id(account), .instant(now)
    ) { list in
      """
      SELECT \(DueMessage.columns) FROM sync.mailbox_messages
      WHERE sender_id = $1 AND due_ms <= $2 AND number IN (\(list))
      """
    } row: { row in
      try DueMessage(row: row, of: account)
    }.sorted { ($0.due, $0.mail) < ($1.due, $1.mail) }
    guard let first = messages.first, owners.accounts.contains(account) else { return 0 }
    let rows = MailboxRows(transaction)
    var charge = MailboxCharge()
    var tellings: [Telling] = []
    var expiredCount = 0
    for message in messages {
      let keys = try message.waitingCount > 0 ? rows.takeBack(message.mail) : []
      if !message.isTelling { expiredCount += keys.count }
      if !keys.isEmpty, !message.isTelling,
        try Receiver.isLive(message.senderKey, of: account, transaction)
      {
        let telling = Telling(message: message, keys: keys)
        charge.messages.byteCount += telling.byteCount - message.byteCount
        tellings.append(telling)
      } else {
        try transaction.execute(
          "DELETE FROM sync.mailbox_messages WHERE sender_id = $1 AND number = $2",
          .id(account), .integer(message.mail.number))
        charge.messages += -Load(count: 1, byteCount: message.byteCount)
      }
    }
    // Each telling has a number of its own, in the order in which the messages expired.
    let count = max(1, tellings.count)
    let last = try charge.make(
      transaction, &owners, of: account, reason: .mailEnded, file: first.id,
      fee: host.catalogue.metadataFeeByteCount, count: count, quietly: true)
    for (telling, number) in zip(tellings, (last - Int64(count) + 1)...) {
      try telling.store(transaction, at: number, due: now + host.limits.messageSpan)
    }
    try owners.save(transaction, now: now)
    return expiredCount
  }

  /// The first expired messages, in no more mailboxes than one message may go to: all their accounts' rows are held.
  private static func slice(
    ofExpired messages: [(number: Int64, waitingCount: Int64)]
  ) -> [Int64] {
    var deviceCount: Int64 = 0
    return messages.prefix(expiredCountMax).prefix { message in
      deviceCount += message.waitingCount
      return deviceCount <= MailboxBounds.receiverCountMax
    }.map(\.number)
  }

  /// An expired message on its way back to the device that sent it, with the keys of those that did not acknowledge it.
  private struct Telling: Sendable {
    let message: DueMessage
    let keys: [[UInt8]]

    private var entryByteCount: Int64 {
      MailboxBounds.overheadByteCount + Int64(keys.joined().count)
    }

    var byteCount: Int64 { entryByteCount + message.refusedByteCount }

    func store(_ transaction: Transaction, at number: Int64, due: Instant) throws {
      try transaction.execute(
        """
        UPDATE sync.mailbox_messages SET body = NULL, expired = $3, waiting_count = 1, due_ms = $4,
          bytes = $5
        WHERE sender_id = $1 AND number = $2
        """, .id(message.mail.sender), .integer(message.mail.number), .blob(Array(keys.joined())),
        .instant(due), .integer(byteCount))
      try MailboxRows(transaction).add(
        message.mail, byteCount: entryByteCount, to: [message.senderKey],
        of: message.mail.sender, at: number)
    }
  }

  /// Empties a slice of the mailbox of a key of the account that was revoked. Its messages count as acknowledged.
  private static func close(
    _ transaction: Transaction, _ account: Identifier, host: ProtocolHost, now: Instant
  ) throws {
    let key = try transaction.first(
      """
      SELECT public_key FROM sync.mailboxes WHERE account_id = $1 AND closed_ms IS NOT NULL
      ORDER BY public_key LIMIT 1
      """, .id(account)
    ) { row in try row.blob(0) }
    guard let key else { return }
    var owners = try LockedOwners(transaction, [account])
    guard owners.accounts.contains(account) else { return }
    if try emptied(transaction, key, now: now) { return }
    let packages = try transaction.rows(
      "DELETE FROM sync.key_packages WHERE public_key = $1 RETURNING claimed_ms, bytes",
      .blob(key)
    ) { row in (isOffered: try row.optionalInteger(0) == nil, byteCount: try row.integer(1)) }
    let offered = packages.filter(\.isOffered)
    if !offered.isEmpty {
      let load = Load(
        count: Int64(offered.count), byteCount: offered.reduce(0) { $0 + $1.byteCount })
      try MailboxCharge(packages: -load).make(
        transaction, &owners, of: account, reason: .keyPackagesOffered, file: account,
        fee: host.catalogue.metadataFeeByteCount, quietly: true)
      try owners.save(transaction, now: now)
    }
    try transaction.execute("DELETE FROM sync.mailboxes WHERE public_key = $1", .blob(key))
  }

  /// Takes one slice of messages out of a mailbox whose account's row is held. Returns false if there was none.
  private static func emptied(
    _ transaction: Transaction, _ key: [UInt8], now: Instant
  ) throws -> Bool {
    let entries = try transaction.rows(
      """
      SELECT \(MailboxEntry.columns) FROM sync.mailbox_entries WHERE public_key = $1
      ORDER BY number LIMIT $2
      """, .blob(key), .integer(Int64(sliceCountMax))
    ) { row in try MailboxEntry(row: row) }
    guard !entries.isEmpty else { return false }
    try MailboxRows(transaction).take(entries, from: key, end: now + MailboxBounds.repeatSpan)
    return true
  }

  /// Erases one slice of an account's rows, whose usage goes with it. Returns false if nothing was left.
  static func erase(
    _ transaction: Transaction, _ account: Identifier, now: Instant
  ) throws -> Bool {
    try erasedMailbox(transaction, account, now: now)
      || erasedMessage(transaction, account)
      || transaction.eraseSlice(
        of: "key_packages", by: "public_key, digest", where: "account_id", is: account)
      || ["account_id", "owner_id"].contains { column in
        try transaction.eraseSlice(
          of: "key_package_claims", by: "account_id, public_key", where: column, is: account)
      }
      || transaction.eraseSlice(
        of: "mailbox_totals", by: "account_id", where: "account_id", is: account)
  }

  private static func erasedMailbox(
    _ transaction: Transaction, _ account: Identifier, now: Instant
  ) throws -> Bool {
    let key = try transaction.first(
      "SELECT public_key FROM sync.mailboxes WHERE account_id = $1 ORDER BY public_key LIMIT 1",
      .id(account)
    ) { row in try row.blob(0) }
    guard let key else { return false }
    _ = try LockedOwners(transaction, [account])
    if try !emptied(transaction, key, now: now) {
      try transaction.execute("DELETE FROM sync.mailboxes WHERE public_key = $1", .blob(key))
    }
    return true
  }

  private static func erasedMessage(
    _ transaction: Transaction, _ account: Identifier
  ) throws -> Bool {
    let number = try transaction.first(
      "SELECT number FROM sync.mailbox_messages WHERE sender_id = $1 ORDER BY number LIMIT 1",
      .id(account)
    ) { row in try row.integer(0) }
    guard let number else { return false }
    let mail = Mail(sender: account, number: number)
    let receivers = try MailboxRows.accounts(holding: mail, transaction)
    _ = try LockedOwners(transaction, receivers.union([account]))
    _ = try MailboxRows(transaction).takeBack(mail)
    try transaction.execute(
      "DELETE FROM sync.mailbox_messages WHERE sender_id = $1 AND number = $2", .id(account),
      .integer(number))
    return true
  }
}
