import Accounts
import Base
import Storage

/// The file tree's part of an account's erasure: what it shared ends first, then what it saw, then its files.
enum TreeErasure {
  static func sweep(
    _ transaction: Transaction, _ account: Identifier, now: Instant
  ) throws -> Bool {
    try erasedShares(transaction, account, now: now) || erasedViews(transaction, account)
      || transaction.eraseSlice(of: "trash", by: "root_id", where: "owner_id", is: account)
      || transaction.eraseSlice(of: "folder_caps", by: "folder_id", where: "owner_id", is: account)
      || transaction.eraseSlice(
        of: "former_contents", by: "owner_id, place", where: "owner_id", is: account)
      || erasedVersions(transaction, account, now: now)
      || erasedFiles(transaction, account, now: now) || erasedDepartures(transaction, account)
  }

  static func forget(_ transaction: Transaction, _ account: Identifier) throws -> Bool {
    try ["owner_id", "account_id"].contains { column in
      try transaction.eraseSlice(
        of: "shares", by: "file_id, account_id", where: column, is: account)
    }
  }

  // MARK: steps; each answers whether it found something to erase

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
      """, .id(account), .blob(nobody.key), .integer(Transaction.erasedCountMax)
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

  private static func erasedViews(
    _ transaction: Transaction, _ account: Identifier
  ) throws -> Bool {
    let shares = try transaction.execute(
      """
      UPDATE sync.shares SET state = 'rejected', share_key = NULL
      WHERE (file_id, account_id) IN (
        SELECT file_id, account_id FROM sync.shares
        WHERE account_id = $1 AND state IN ('pending', 'accepted') LIMIT $2)
      """, .id(account), .integer(Transaction.erasedCountMax))
    let views = try transaction.eraseSlice(
      of: "views", by: "account_id, owner_id", where: "account_id", is: account)
    return shares > 0 || views
  }

  /// Hands large contents to the sweeper and deletes small ones at once.
  private static func erasedFiles(
    _ transaction: Transaction, _ account: Identifier, now: Instant
  ) throws -> Bool {
    try transaction.execute("DELETE FROM sync.deletions WHERE owner_id = $1", .id(account))
    let files = try transaction.rows(
      "SELECT id, object_id FROM sync.files WHERE owner_id = $1 ORDER BY seq LIMIT $2",
      .id(account), .integer(Transaction.erasedCountMax)
    ) { row in (id: try row.id(0), object: try row.optionalID(1)) }
    for file in files {
      if let object = file.object { try Garbage.addOfErased(transaction, object, since: now) }
      try transaction.execute(
        "DELETE FROM sync.inline_contents WHERE file_id = $1", .id(file.id))
      try transaction.execute("DELETE FROM sync.files WHERE id = $1", .id(file.id))
    }
    return !files.isEmpty
  }

  private static func erasedVersions(
    _ transaction: Transaction, _ account: Identifier, now: Instant
  ) throws -> Bool {
    let versions = try transaction.rows(
      """
      DELETE FROM sync.versions WHERE (file_id, version) IN (
        SELECT file_id, version FROM sync.versions WHERE owner_id = $1 LIMIT $2)
      RETURNING object_id
      """, .id(account), .integer(Transaction.erasedCountMax)
    ) { row in try row.optionalID(0) }
    for case .some(let object) in versions {
      try Garbage.addOfErased(transaction, object, since: now)
    }
    return !versions.isEmpty
  }

  private static func erasedDepartures(
    _ transaction: Transaction, _ account: Identifier
  ) throws -> Bool {
    let own = try transaction.eraseSlice(
      of: "departures", by: "account_id, owner_id, file_id", where: "account_id", is: account)
    if own { return true }
    // Only accounts that had a share were sent what left their sight.
    return try transaction.execute(
      """
      DELETE FROM sync.departures WHERE (account_id, owner_id, file_id) IN (
        SELECT account_id, owner_id, file_id FROM sync.departures
        WHERE owner_id = $1
          AND account_id IN (SELECT account_id FROM sync.shares WHERE owner_id = $1) LIMIT $2)
      """, .id(account), .integer(Transaction.erasedCountMax)) > 0
  }
}
