import Accounts
import Base
import Storage

/// Takes texts and blobs that nobody holds from an account's charge. Their last holder may not have held its row.
enum DocumentReleases {
  static let queue = FailingItems.Queue("document_releases")
  private static let isDue = FailingItems.isDue(queue, "document_releases.owner_id", at: "$1")

  /// An account with any to look at; nil if there is none.
  static func next(_ transaction: Transaction, now: Instant) throws -> Identifier? {
    try transaction.first(
      """
      SELECT owner_id FROM sync.document_releases WHERE \(isDue) ORDER BY owner_id LIMIT 1
      """, .instant(now)
    ) { row in try row.id(0) }
  }

  static func sweep(_ transaction: Transaction, _ account: Identifier, now: Instant) throws {
    var owners = try LockedOwners(transaction, [account])
    let released = try transaction.rows(
      """
      SELECT item_id, holder_id FROM sync.document_releases WHERE owner_id = $1
      ORDER BY item_id, holder_id LIMIT $2
      """, .id(account), .integer(DocumentTexts.sliceCountMax)
    ) { row in (item: try row.id(0), holder: try row.id(1)) }
    for one in released {
      try transaction.execute(
        """
        DELETE FROM sync.document_releases
        WHERE owner_id = $1 AND item_id = $2 AND holder_id = $3
        """, .id(account), .id(one.item), .id(one.holder))
    }
    guard owners.accounts.contains(account) else { return }
    // Only now, because whoever deletes a name waits for the row that was deleted above, or this one for them.
    let items = Set(released.map(\.item))
    let byteCount =
      try DocumentTexts(transaction).delete(unheld: items, of: account)
      + DocumentBlob.delete(unnamed: items, of: account, transaction, now: now)
    guard byteCount > 0, let first = released.first else { return }
    var totals = try DocumentTotals(transaction, of: account)
    try totals.collect(byteCount, file: first.item, of: account, &owners)
    try owners.save(transaction, now: now)
    try totals.save(transaction, of: account)
  }
}
