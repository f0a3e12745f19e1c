internal import Accounts
internal import Base
internal import Storage

/// Erases accounts when they are due, one slice a transaction, in an order that a crash can repeat
/// safely. First the account's keys go, then what it shared with others, then the rest.
enum AccountErasure {
  private static let sliceCountMax: Int64 = 250
  private static let isErasureDue = FailingItems.isDue(
    .erasures, "account_deletions.account_id", at: "$1")
  private static let isForgettingDue = FailingItems.isDue(
    .forgetting, "account_deletions.account_id", at: "$2")

  /// The account to erase first; nil if none is due.
  static func next(_ transaction: Transaction, now: Instant) throws -> Identifier? {
    try transaction.first(
      """
      SELECT account_id FROM sync.account_deletions WHERE erased_ms IS NULL AND erase_ms <= $1
        AND \(isErasureDue)
      ORDER BY erase_ms, account_id LIMIT 1
      """, .instant(now)
    ) { row in try row.id(0) }
  }

  /// Runs one slice of its erasure.
  static func sweep(
    _ transaction: Transaction, _ account: Identifier, now: Instant
  ) throws {
    try transaction.execute(
      """
      UPDATE sync.account_deletions SET begun_ms = coalesce(begun_ms, $2) WHERE account_id = $1
      """, .id(account), .instant(now))
    let hasFound =
      try erasedKeys(transaction, account) || erasedShares(transaction, account, now: now)
      || erasedViews(transaction, account) || erasedFiles(transaction, account, now: now)
      || erasedTraces(transaction, account)
    guard !hasFound else { return }
    // The account's row stays, without a name, while other accounts' shares refer to its id.
    try transaction.execute(
      """
      UPDATE sync.accounts SET username = NULL, username_shown = NULL, usage_bytes = 0,
        record_count = 0, kept_bytes = 0, invite_id = NULL WHERE id = $1
      """, .id(account))
    try transaction.execute(
      "UPDATE sync.account_deletions SET erased_ms = $2 WHERE account_id = $1", .id(account),
      .instant(now))
  }

  /// The erased account to forget first: every client has seen its end, or is too old to be sent
  /// it. Nil if none is due.
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

  /// Deletes one slice of what was kept so that other accounts see its end.
  static func forget(
    _ transaction: Transaction, _ account: Identifier, before horizon: Instant
  ) throws {
    for column in ["owner_id", "account_id"] {
      let hasFound = try delete("shares", "file_id, account_id", column, account, transaction)
      if hasFound { return }
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
    let uploads = try transaction.rows(
      "SELECT object_id FROM sync.reservations WHERE owner_id = $1 LIMIT $2", .id(account),
      .integer(sliceCountMax)
    ) { row in try row.id(0) }
    for upload in uploads { try Reservations.release(transaction, upload) }
    let nonces = try transaction.execute(
      """
      DELETE FROM sync.nonces WHERE (public_key, nonce) IN (
        SELECT n.public_key, n.nonce FROM sync.nonces AS n
        JOIN sync.device_keys AS k ON k.public_key = n.public_key
        WHERE k.account_id = $1 LIMIT $2)
      """, .id(account), .integer(sliceCountMax))
    guard uploads.isEmpty, nonces == 0 else { return true }
    let sessions = try delete("sessions", "token_hash", "account_id", account, transaction)
    let keys = try delete("device_keys", "public_key", "account_id", account, transaction)
    return sessions || keys
  }

  /// A signature made by no key, for a share that ended because its owner is gone.
  private static let nobody = FileRecord.Author(
    key: [UInt8](repeating: 0, count: 32), signature: [UInt8](repeating: 0, count: 64))

  /// Ends the account's shares as if the owner had ended them, so that their sharees see it.
  private static func erasedShares(
    _ transaction: Transaction, _ account: Identifier, now: Instant
  ) throws -> Bool {
    let shares = try transaction.rows(
      """
      SELECT \(Share.columns) FROM sync.shares
      WHERE owner_id = $1 AND author_key <> $2 ORDER BY state, account_id LIMIT $3
      """, .id(account), .blob(nobody.key), .integer(sliceCountMax)
    ) { row in try Share(row: row) }
    guard !shares.isEmpty else { return false }
    var owners = try LockedOwners(transaction, Set(shares.map(\.account) + [account]))
    let visibility = Visibility(transaction, now: now)
    for var share in shares {
      let wasAccepted = share.state == .accepted
      if share.state.isLive {
        share.become(.revoked, at: try owners.nextSequence(of: share.account))
      }
      (share.key, share.author) = (nil, nobody)
      try share.save(transaction, now: now)
      if wasAccepted { try visibility.close(share.account, share.owner, &owners) }
    }
    try owners.save(transaction, now: now)
    return true
  }

  /// Ends what other accounts shared with it.
  private static func erasedViews(
    _ transaction: Transaction, _ account: Identifier
  ) throws -> Bool {
    let shares = try transaction.execute(
      """
      UPDATE sync.shares SET state = 'rejected', share_key = NULL
      WHERE (file_id, account_id) IN (
        SELECT file_id, account_id FROM sync.shares
        WHERE account_id = $1 AND state IN ('pending', 'accepted') LIMIT $2)
      """, .id(account), .integer(sliceCountMax))
    let views = try delete("views", "account_id, owner_id", "account_id", account, transaction)
    return shares > 0 || views
  }

  /// Hands large contents to the sweeper and deletes small ones at once.
  private static func erasedFiles(
    _ transaction: Transaction, _ account: Identifier, now: Instant
  ) throws -> Bool {
    try transaction.execute("DELETE FROM sync.deletions WHERE owner_id = $1", .id(account))
    let files = try transaction.rows(
      "SELECT id, object_id FROM sync.files WHERE owner_id = $1 ORDER BY seq LIMIT $2",
      .id(account), .integer(sliceCountMax)
    ) { row in (id: try row.id(0), object: try row.optionalID(1)) }
    for file in files {
      if let object = file.object {
        try transaction.execute(
          """
          INSERT INTO sync.garbage (object_id, since_ms) VALUES ($1, $2)
          ON CONFLICT (object_id) DO NOTHING
          """, .id(object), .instant(now))
      }
      try transaction.execute(
        "DELETE FROM sync.inline_contents WHERE file_id = $1", .id(file.id))
      try transaction.execute("DELETE FROM sync.files WHERE id = $1", .id(file.id))
    }
    return !files.isEmpty
  }

  private static func erasedTraces(
    _ transaction: Transaction, _ account: Identifier
  ) throws -> Bool {
    let tables = [
      ("usage_entries", "owner_id, seq", "owner_id"), ("transfers", "owner_id, month", "owner_id"),
      ("departures", "account_id, owner_id, file_id", "account_id"),
      ("blocks", "account_id, blocked_id", "account_id"),
      ("blocks", "account_id, blocked_id", "blocked_id"),
      ("failing_items", "queue, item", "account_id"),
    ]
    for (table, key, column) in tables
    where try delete(table, key, column, account, transaction) { return true }
    // Only accounts that had a share were sent what left their sight.
    return try transaction.execute(
      """
      DELETE FROM sync.departures WHERE (account_id, owner_id, file_id) IN (
        SELECT account_id, owner_id, file_id FROM sync.departures
        WHERE owner_id = $1
          AND account_id IN (SELECT account_id FROM sync.shares WHERE owner_id = $1) LIMIT $2)
      """, .id(account), .integer(sliceCountMax)) > 0
  }

  /// Deletes a slice of a table's rows by its primary key. Returns whether there were any.
  private static func delete(
    _ table: String, _ primaryKey: String, _ column: String, _ account: Identifier,
    _ transaction: Transaction
  ) throws -> Bool {
    try transaction.execute(
      """
      DELETE FROM sync.\(table) WHERE (\(primaryKey)) IN (
        SELECT \(primaryKey) FROM sync.\(table) WHERE \(column) = $1 LIMIT $2)
      """, .id(account), .integer(sliceCountMax)) > 0
  }
}
