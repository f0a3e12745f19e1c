package import Accounts
package import Base
package import Requests
package import Storage
import Tiers

/// What became of a message.
package struct Delivered: Equatable, Sendable {
  let sender: Identifier
  /// In how many mailboxes it is, or was when it was stored first.
  package let receiverCount: Int
  package let refused: [RefusedReceiver]
  /// The size of its content if it was stored now, else 0.
  let storedByteCount: Int64
  /// Whether the same message was stored before.
  package let isRepeated: Bool
}

/// Stores messages in the mailboxes of devices, within a transaction that holds the rows of the accounts concerned.
package struct Delivery {
  private let host: ProtocolHost
  private let transaction: Transaction
  private let sender: Caller
  private let group: Identifier?
  private let now: Instant

  /// - Parameter group: The group that the sender and all receivers are members of; nil for none.
  package init(
    _ transaction: Transaction, by sender: Caller, inGroup group: Identifier? = nil,
    host: ProtocolHost, now: Instant
  ) {
    self.host = host
    self.transaction = transaction
    self.sender = sender
    self.group = group
    self.now = now
  }

  /// The accounts whose rows must be held, besides the sender's, to store a message for these devices.
  package static func accounts(
    of keys: [[UInt8]], from sender: Identifier, inGroup isGroup: Bool = false,
    _ queryable: some Queryable
  ) throws -> Set<Identifier> {
    Set(try Receiver.find(keys, from: sender, inGroup: isGroup, queryable).map(\.account))
  }

  /// Stores a message in the mailbox of each receiver that takes it, and charges it to the sender's account. Those that
  /// do not take it are named in what is returned. If none does, nothing is stored but that they were full. The caller
  /// saves the owners. `isNew`: it found no `repeated` one in this transaction. `mustFit`: false for a message without
  /// which nobody could be removed. A full account sends it, if so far it has no more messages waiting than a mailbox
  /// takes of one account.
  ///
  /// - Throws: What `repeated` throws; an `AccountRefusal` of a suspension or cap.
  package func store(
    _ message: SealedMessage, isNew: Bool = false, mustFit: Bool = true,
    _ owners: inout LockedOwners
  ) throws -> Delivered {
    try owners.requireWritable([], by: sender, transaction)
    if !isNew, let repeated = try repeated(message) { return repeated }
    let found = try Receiver.find(
      message.receivers, from: sender.account, inGroup: group != nil, transaction)
    let byKey = Dictionary(found.map { ($0.publicKey, $0) }) { first, _ in first }
    var takers: [Receiver] = []
    var refused: [RefusedReceiver] = []
    for key in message.receivers {
      if let receiver = byKey[key] {
        let reason = receiver.refusal(of: message.byteCount, from: sender.account)
        if let reason {
          refused.append(RefusedReceiver(publicKey: key, reason: reason))
        } else {
          takers.append(receiver)
        }
      } else {
        refused.append(RefusedReceiver(publicKey: key, reason: .unknown))
      }
    }
    let full = refused.filter { $0.reason == .full }.map(\.publicKey)
    for account in Set(full.compactMap { byKey[$0]?.account }) {
      _ = try owners.require(account)
    }
    try MailboxRows(transaction).note(full: full, now: now)
    if !takers.isEmpty { try store(message, for: takers, refused, mustFit: mustFit, &owners) }
    return Delivered(
      sender: sender.account, receiverCount: takers.count, refused: refused,
      storedByteCount: takers.isEmpty ? 0 : Int64(message.body.count), isRepeated: false)
  }

  /// What became of the message when it was stored before; nil if it was not.
  ///
  /// - Throws: `MailboxRefusal.messageDiffers` if the device sent another message under the id. If it sent this one, and
  ///   some devices did not get it in time, `messageExpired`, unless `mayHaveExpired`.
  package func repeated(
    _ message: SealedMessage, mayHaveExpired: Bool = false
  ) throws -> Delivered? {
    let found = try transaction.first(
      """
      SELECT digest, receiver_count, refused, expired FROM sync.mailbox_messages
      WHERE sender_key = $1 AND id = $2
      """, .blob(sender.publicKey), .id(message.id)
    ) { row in
      (try row.blob(0), try row.integer(1), try row.blob(2), try row.optionalBlob(3) != nil)
    }
    guard let (digest, count, bytes, hasExpired) = found else { return nil }
    guard digest == message.digest(inGroup: group) else { throw MailboxRefusal.messageDiffers }
    guard mayHaveExpired || !hasExpired else { throw MailboxRefusal.messageExpired }
    guard let refused = RefusedReceiver.list(bytes) else {
      throw DatabaseError.statement("column 2 holds no receivers")
    }
    return Delivered(
      sender: sender.account, receiverCount: Int(count), refused: refused, storedByteCount: 0,
      isRepeated: true)
  }

  private func store(
    _ message: SealedMessage, for takers: [Receiver], _ refused: [RefusedReceiver],
    mustFit: Bool, _ owners: inout LockedOwners
  ) throws {
    let fee = host.catalogue.metadataFeeByteCount
    let refusedBytes = refused.flatMap(\.bytes)
    let byteCount =
      message.byteCount + Int64(takers.count) * MailboxBounds.overheadByteCount
      + Int64(refusedBytes.count)
    let charge = MailboxCharge(messages: Load(count: 1, byteCount: byteCount))
    let isAdmitted =
      try !mustFit
      && MailboxTotals(transaction, of: sender.account).messages
        .hasRoom(for: byteCount, below: MailboxBounds.ofSender)
    if !isAdmitted {
      try owners.require(sender.account).requireRoom(
        for: charge.byteCount(fee: fee), askedBy: sender.account, transaction,
        catalogue: host.catalogue, now: now)
    }
    let number = try charge.make(
      transaction, &owners, of: sender.account, reason: .mailSent, file: message.id, fee: fee)
    let rows = MailboxRows(transaction)
    try transaction.execute(
      """
      INSERT INTO sync.mailbox_messages (sender_id, number, sender_key, id, kind, digest, sent_ms,
        due_ms, receiver_count, waiting_count, bytes, refused, body)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $11, $12)
      """, .id(sender.account), .integer(number), .blob(sender.publicKey), .id(message.id),
      .text(message.kind.rawValue), .blob(message.digest(inGroup: group)), .instant(now),
      .instant(now + host.limits.messageSpan), .integer(Int64(takers.count)),
      .integer(byteCount), .blob(refusedBytes), .blob(message.body))
    // In the order of accounts, as their rows were locked.
    let byAccount = Dictionary(grouping: takers, by: \.account).sorted { $0.key < $1.key }
    for (account, takers) in byAccount {
      let arrival =
        try account == sender.account
        ? number : owners.change(account) { $0.nextSequence(for: .mailbox) }
      try rows.add(
        Mail(sender: sender.account, number: number), byteCount: message.byteCount,
        to: takers.map(\.publicKey), of: account, at: arrival)
    }
  }
}
