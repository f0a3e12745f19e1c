import Accounts
import Base
import Storage

/// The end of links: by their expiry, and with their account.
enum LinkPurge {
  static let queue = FailingItems.Queue("links")
  private static let isDue = FailingItems.isDue(queue, "public_links.owner_id", at: "$1")
  /// The most links that one slice deletes.
  private static let sliceCountMax = 100

  /// The account whose link has ended first; nil if none has.
  static func next(_ transaction: Transaction, now: Instant) throws -> Identifier? {
    try transaction.first(
      """
      SELECT owner_id FROM sync.public_links WHERE expires_ms IS NOT NULL AND expires_ms <= $1
        AND \(isDue)
      ORDER BY expires_ms, owner_id LIMIT 1
      """, .instant(now)
    ) { row in try row.id(0) }
  }

  /// Deletes one slice of an account's links that have ended.
  static func sweep(
    _ transaction: Transaction, _ account: Identifier, host: ProtocolHost, now: Instant
  ) throws {
    var owners = try LockedOwners(transaction, [account])
    let ended = try PublicLink.ended(transaction, of: account, limit: sliceCountMax, now: now)
    try LinkWrite(transaction, of: account, catalogue: host.catalogue, now: now)
      .end(ended, &owners)
  }

  /// Erases one slice of an account's links. Returns false if nothing was left.
  static func erase(
    _ transaction: Transaction, _ account: Identifier, now: Instant
  ) throws -> Bool {
    let objects = try transaction.rows(
      """
      DELETE FROM sync.public_links WHERE owner_id = $1 AND id IN (
        SELECT id FROM sync.public_links WHERE owner_id = $1 LIMIT $2)
      RETURNING object_id
      """, .id(account), .integer(Transaction.erasedCountMax)
    ) { row in try row.id(0) }
    for object in objects { try Garbage.addOfErased(transaction, object, since: now) }
    return !objects.isEmpty
  }
}
