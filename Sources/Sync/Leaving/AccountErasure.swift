internal import Base
internal import Storage

/// Erases accounts whose time has come, a slice to a transaction, in an order that a crash repeats
/// without harm: first nobody can act for it, then others lose what it shared, then everything goes.
enum AccountErasure {
  private static let sliceCountMax: Int64 = 250
  private static let isErasureDue = FailingItems.isDue(
    .erasures, "account_deletions.account_id", at: "$1")
  private static let isForgettingDue = FailingItems.isDue(
    .forgetting, "account_deletions.account_id", at: "$2")

  /// The account that is to be erased first; nil where none is due.
  static func next(_ transaction: Transaction, now: Instant) throws -> Identifier? {
    try transaction.first(
      """
      SELECT account_id FROM sync.account_deletions WHERE erased_ms IS NULL AND erase_ms <= $1
        AND \(isErasureDue)
      ORDER BY erase_ms, account_id LIMIT 1
      """, .instant(now)
    ) { row in try row.id(0) }
  }

  /// One slice of its erasure.
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
    // Its row stays without a name for as long as others' shares name its id.
    try transaction.execute(
      """
      UPDATE sync.accounts SET username = NULL, username_shown = NULL, usage_bytes = 0,
        record_count = 0, kept_bytes = 0, invite_id = NULL WHERE id = $1
      """, .id(account))
    try transaction.execute(
      "UPDATE sync.account_deletions SET erased_ms = $2 WHERE account_id = $1", .id(account),
      .instant(now))
  }

  /// The erased account that is to be forgotten first: every client has learnt that it ended, or is too old to
  /// be told; nil where none is due.
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

  /// One slice of what is kept of it so that others learn that it ended.
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

  /// Nobody can act for it any more, and what its devices were answered is forgotten.
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

  /// A signature that nobody made: of a share that ended because its owner is gone.
  private static let nobody = FileRecord.Author(
    key: [UInt8](repeating: 0, count: 32), signature: [UInt8](repeating: 0, count: 64))

  /// Whoever had access learns that it ended, as from an owner who ends it.
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

  /// What others shared with it is over.
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

  /// Large contents go to the sweeper, small ones at once.
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
    // No more than those who had shares of it were told of what left their sight.
    return try transaction.execute(
      """
      DELETE FROM sync.departures WHERE (account_id, owner_id, file_id) IN (
        SELECT account_id, owner_id, file_id FROM sync.departures
        WHERE owner_id = $1
          AND account_id IN (SELECT account_id FROM sync.shares WHERE owner_id = $1) LIMIT $2)
      """, .id(account), .integer(sliceCountMax)) > 0
  }

  /// A slice of a table's rows, by its primary key; whether there were any.
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
