internal import Accounts
package import Base
internal import HTTPMessages
package import Storage

/// What an owner, or an operator for it, has done with its trash. The owner's row must be locked.
package enum TrashRequests {
  /// Brings a deleted file back at once, and queues what was deleted with it. `TrashJob` sends it to accounts that
  /// are only invited to it.
  ///
  /// - Throws: A `Refusal` if the account has no such trash, the folder is gone, or the name is taken.
  package static func restore(
    _ transaction: Transaction, _ root: Identifier, of account: Identifier, fee: Int64, now: Instant
  ) throws {
    let entry = try find(transaction, root, of: account)
    guard entry.state == .kept, try !entry.isBeingMarked(transaction) else {
      throw Refusal.trashBusy
    }
    // In an entry that was restored in part the root is live.
    if try FileRecord.find(transaction, root)?.isDeleted == true {
      try unmark(transaction, entry, fee: fee, now: now)
    }
    try entry.become(.restoring, transaction)
  }

  /// Empties a deleted file out of the trash, with all that was deleted with it.
  package static func purge(
    _ transaction: Transaction, _ root: Identifier, of account: Identifier
  ) throws {
    try find(transaction, root, of: account).become(.purging, transaction)
  }

  private static func find(
    _ transaction: Transaction, _ root: Identifier, of account: Identifier
  ) throws -> Trash {
    guard let entry = try Trash.find(transaction, root), entry.owner == account else {
      throw Refusal.trashNotFound
    }
    return entry
  }

  private static func unmark(
    _ transaction: Transaction, _ entry: Trash, fee: Int64, now: Instant
  ) throws {
    let former = try transaction.first(
      "SELECT parent_id, name_hmac FROM sync.trash WHERE root_id = $1", .id(entry.root)
    ) { row in (parent: try row.id(0), hmac: try row.optionalBlob(1)) }
    guard let former else { throw Refusal.trashNotFound }
    var tree = AncestorTree(seenBy: entry.owner)
    try tree.load(former.parent, transaction)
    guard tree[former.parent] != nil, !tree.isDeleted(former.parent) else {
      throw Refusal.parentGone(former.parent)
    }
    let other = try transaction.first(
      "SELECT id FROM sync.files WHERE parent_id = $1 AND name_hmac = $2 AND deleted = 0",
      .id(former.parent), .blob(former.hmac)
    ) { row in try row.id(0) }
    if let other { throw Refusal.nameTaken(by: other) }
    var owners = try LockedOwners(transaction, [entry.owner])
    let byteCount =
      try transaction.first(
        "SELECT content_bytes FROM sync.files WHERE id = $1", .id(entry.root)
      ) { row in try row.integer(0) } ?? 0
    let number = try owners.change(entry.owner) { owner in
      let number = owner.nextSequence()
      owner.charge(
        0, trash: -fee - byteCount, reason: .trashPurged, file: entry.root, sequence: number)
      return number
    }
    try transaction.execute(
      """
      UPDATE sync.files AS f
      SET deleted = 0, deleted_ms = NULL, deleted_with = NULL, trash_id = NULL, seq = $2,
        parent_id = t.parent_id, name = t.name, name_hmac = t.name_hmac,
        file_key = t.file_key, author_key = t.author_key, signature = t.signature
      FROM sync.trash AS t WHERE f.id = $1 AND t.root_id = $1
      """, .id(entry.root), .integer(number))
    try Trash.count(transaction, entry.root, bytes: -fee - byteCount, records: -1)
    try owners.save(transaction, now: now)
  }
}
