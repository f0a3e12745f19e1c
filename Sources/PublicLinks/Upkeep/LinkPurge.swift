import Accounts
import Base
import Storage

/// The end of links: by their expiry, and with their account.
enum LinkPurge {
  static let queue = FailingItems.Queue("links")
  /// The most links that one slice deletes.
  private static let sliceCountMax = 100

  /// Deletes one slice of an account's links that have ended.
  static func sweep(
    _ transaction: Transaction, _ account: Identifier, host: ProtocolHost, now: Instant
  ) throws {
    var owners = try LockedOwners(transaction, [account])
    let ended = try PublicLink.ended(transaction, of: account, limit: sliceCountMax, now: now)
    try LinkWrite(transaction, of: account, catalogue: host.catalogue, now: now)
      .end(ended, quietly: true, &owners)
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
