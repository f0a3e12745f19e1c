import Accounts
import Base
import Storage

/// Erases accounts that are due, a slice a transaction: the keys first, then what each protocol keeps, then the rest.
enum AccountErasure {
  private static let isErasureDue = FailingItems.isDue(
    .erasures, "account_deletions.account_id", at: "$1")
  private static let isForgettingDue = FailingItems.isDue(
    .forgetting, "account_deletions.account_id", at: "$2")

  static func next(_ transaction: Transaction, now: Instant) throws -> Identifier? {
    try transaction.first(
      """
      SELECT account_id FROM sync.account_deletions WHERE erased_ms IS NULL AND erase_ms <= $1
        AND \(isErasureDue)
      ORDER BY erase_ms, account_id LIMIT 1
      """, .instant(now)
    ) { row in try row.id(0) }
  }

  static func sweep(
    _ transaction: Transaction, _ account: Identifier, of protocols: [any ProtocolRoom],
    now: Instant
  ) throws {
    // Whoever cancels the deletion may have come first since it was found.
    let dueCount = try transaction.execute(
      """
      UPDATE sync.account_deletions SET begun_ms = coalesce(begun_ms, $2)
      WHERE account_id = $1 AND erased_ms IS NULL AND erase_ms <= $2
      """, .id(account), .instant(now))
    guard dueCount == 1 else { return }
    transaction.report(News(of: account, .account))
    if try erased(transaction, account, of: protocols, now: now) { return }
    // A request that was let in before the keys went may have written since. Nobody can once the row is held.
    _ = try AccountDeletion.locked(account, in: transaction)
    if try erased(transaction, account, of: protocols, now: now) { return }
    // The account's row stays, without a name, while other accounts' shares refer to its id.
    try transaction.execute(
      """
      UPDATE sync.accounts SET username = NULL, username_shown = NULL, usage_bytes = 0,
        record_count = 0, kept_bytes = 0, history_bytes = 0, trash_bytes = 0, history_due_ms = NULL, invite_id = NULL
      WHERE id = $1
      """, .id(account))
    try transaction.execute(
      "UPDATE sync.account_deletions SET erased_ms = $2 WHERE account_id = $1", .id(account),
      .instant(now))
  }

  private static func erased(
    _ transaction: Transaction, _ account: Identifier, of protocols: [any ProtocolRoom],
    now: Instant
  ) throws -> Bool {
    try erasedKeys(transaction, account)
      || protocols.contains { try $0.withdraw(account, in: transaction, now: now) }
      || protocols.contains { try type(of: $0).erase(account, in: transaction, now: now) }
      || erasedTraces(transaction, account)
  }

  /// The first erased account whose end every client has seen, or is too old to be sent.
  static func nextForgotten(
    _ transaction: Transaction, before horizon: Instant, now: Instant
  ) throws -> Identifier? {
    try transaction.first(
      """
      SELECT account_id FROM sync.account_deletions
      WHERE erased_ms <= $1 AND forgotten_ms IS NULL
        AND \(isForgettingDue)
      ORDER BY erased_ms, account_id LIMIT 1
      """, .instant(horizon), .instant(now)
    ) { row in try row.id(0) }
  }

  /// Deletes one slice of what was kept so that other accounts see its end, and of blocks that came since.
  static func forget(
    _ transaction: Transaction, _ account: Identifier, of protocols: [any ProtocolRoom],
    before horizon: Instant
  ) throws {
    if try protocols.contains(where: { try type(of: $0).forget(account, in: transaction) })
      || transaction.eraseSlice(
        of: "blocks", by: "account_id, blocked_id", where: "blocked_id", is: account)
    {
      return
    }
    try transaction.execute("DELETE FROM sync.accounts WHERE id = $1", .id(account))
    try transaction.execute(
      "UPDATE sync.account_deletions SET forgotten_ms = $2 WHERE account_id = $1", .id(account),
      .instant(horizon))
  }

  // MARK: steps; each answers whether it found something to erase

  /// Removes the keys, so that no one can act for the account, and the recorded outcomes of its devices.
  private static func erasedKeys(
    _ transaction: Transaction, _ account: Identifier
  ) throws -> Bool {
    let uploads = try transaction.ids(
      "SELECT object_id FROM sync.reservations WHERE owner_id = $1 LIMIT $2", .id(account),
      .integer(Transaction.erasedCountMax))
    for upload in uploads { try Reservations.release(transaction, upload) }
    let resumable = try transaction.eraseSlice(
      of: "uploads", by: "secret_hash", where: "owner_id", is: account)
    let nonces = try transaction.execute(
      """
      DELETE FROM sync.nonces WHERE (public_key, nonce) IN (
        SELECT n.public_key, n.nonce FROM sync.nonces AS n
        JOIN sync.device_keys AS k ON k.public_key = n.public_key
        WHERE k.account_id = $1 LIMIT $2)
      """, .id(account), .integer(Transaction.erasedCountMax))
    guard uploads.isEmpty, !resumable, nonces == 0 else { return true }
    let tables = [
      ("sessions", "token_hash"), ("push_ids", "public_key"), ("device_keys", "public_key"),
      ("app_tokens", "token_hash"),
    ]
    let erased = try tables.map { table, key in
      try transaction.eraseSlice(of: table, by: key, where: "account_id", is: account)
    }
    return try erased.contains(true)
      || transaction.eraseSlice(of: "app_passwords", by: "id", where: "account_id", is: account)
  }

  private static func erasedTraces(
    _ transaction: Transaction, _ account: Identifier
  ) throws -> Bool {
    let tables = [
      ("usage_entries", "owner_id, seq", "owner_id"), ("transfers", "owner_id, month", "owner_id"),
      ("blocks", "account_id, blocked_id", "account_id"),
      ("blocks", "account_id, blocked_id", "blocked_id"),
      ("failing_items", "queue, item", "account_id"),
    ]
    return try tables.contains { table, key, column in
      try transaction.eraseSlice(of: table, by: key, where: column, is: account)
    }
  }
}
