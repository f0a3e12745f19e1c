import Accounts
package import Base
import HTTPMessages
import Requests
package import Storage

/// What an owner, or an operator for it, has done with its trash. The owner's row must be locked.
package enum TrashRequests {
  /// Brings a deleted file back at once, and queues what was deleted with it. Without a placement it gets its folder
  /// and name back.
  ///
  /// - Returns: The file's number, and how many links were deleted with it, which do not come back.
  /// - Throws: A `Refusal` if there is no such trash, the folder is gone or too deep, or the name is taken.
  package static func restore(
    _ transaction: Transaction, _ root: Identifier, of account: Identifier,
    as placement: Placement? = nil, fee: Int64, now: Instant
  ) throws -> (version: Int64, linkCount: Int64) {
    let entry = try find(transaction, root, of: account)
    guard entry.state == .kept, try !entry.isBeingMarked(transaction) else {
      throw Refusal.trashBusy
    }
    guard let file = try FileRecord.find(transaction, root) else { throw Refusal.trashNotFound }
    var version = file.sequence
    if file.isDeleted {
      version = try unmark(transaction, entry, file, as: placement, fee: fee, now: now)
    } else if placement != nil {
      // In an entry that was restored in part the root is live.
      throw RequestRefusal.bodyInvalid(path: "$.file", rule: "is not deleted any more")
    }
    try entry.become(.restoring, transaction)
    try Trash.count(transaction, root, bytes: 0, records: 0, links: -entry.linkCount)
    return (version, entry.linkCount)
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
    _ transaction: Transaction, _ entry: Trash, _ file: FileRecord, as placement: Placement?,
    fee: Int64, now: Instant
  ) throws -> Int64 {
    let former = try transaction.first(
      """
      SELECT t.parent_id, t.name_hmac, f.height, f.content_bytes
      FROM sync.trash AS t JOIN sync.files AS f ON f.id = t.root_id WHERE t.root_id = $1
      """, .id(entry.root)
    ) { row in
      (
        parent: try row.id(0), hmac: try row.optionalBlob(1), height: try row.integer(2),
        byteCount: try row.integer(3)
      )
    }
    guard let former else { throw Refusal.trashNotFound }
    let parent = placement?.statement.parent ?? former.parent
    var tree = AncestorTree(seenBy: entry.owner)
    try tree.load(parent, transaction)
    guard let folder = tree[parent], tree.role(parent) > .stranger, !tree.isDeleted(parent) else {
      throw Refusal.parentGone(parent)
    }
    try placement?.require(file, below: folder)
    // What is deleted counts for no level, so the folder may have moved deeper since.
    let room = PlannedTree.room(in: tree.chain(parent))
    let height =
      former.height <= room
      ? former.height : try countedHeight(transaction, entry.root) ?? former.height
    guard height <= room else {
      throw Refusal.batchRefused([Failure(file: file.id, account: nil, rule: .tooDeep)])
    }
    let hmac = placement?.statement.name.hmac ?? former.hmac
    let other = try transaction.first(
      "SELECT id FROM sync.files WHERE parent_id = $1 AND name_hmac = $2 AND deleted = 0",
      .id(parent), .blob(hmac)
    ) { row in try row.id(0) }
    if let other { throw Refusal.nameTaken(by: other) }
    var owners = try LockedOwners(transaction, [entry.owner])
    if parent != former.parent, try owners.require(entry.owner).hasFolderCaps {
      let caps = try FolderCap.all(transaction, of: entry.owner)
      var folders = FolderChanges(caps, moved: [], fee: fee)
      let above = try FolderCap.above(file.id, of: owners.require(entry.owner), transaction)
      try folders.move(
        file, from: Set(above.map(\.folder)), to: folders.capped(tree.chain(parent)), transaction)
      try folders.post(of: entry.owner, askedBy: entry.owner, transaction)
    }
    let number = try owners.change(entry.owner) { owner in
      let number = owner.nextSequence()
      owner.charge(
        0, trash: -fee - former.byteCount, reason: .trashPurged, file: entry.root,
        sequence: number)
      return number
    }
    if let placement {
      try place(transaction, placement, number: number)
    } else {
      try transaction.execute(
        """
        UPDATE sync.files AS f SET \(unmarked), parent_id = t.parent_id, name = t.name,
          name_hmac = t.name_hmac, file_key = t.file_key, author_key = t.author_key,
          signature = t.signature
        FROM sync.trash AS t WHERE f.id = $1 AND t.root_id = $1
        """, .id(entry.root), .integer(number))
    }
    try tree.raise(above: parent, height: height, transaction)
    try Trash.count(transaction, entry.root, bytes: -fee - former.byteCount, records: -1)
    try owners.save(transaction, now: now)
    return number
  }

  /// The levels below a folder in the trash. Nil if there are too many files to count: its height stands for them.
  private static func countedHeight(
    _ transaction: Transaction, _ root: Identifier
  ) throws -> Int64? {
    let files = try transaction.rows(
      "SELECT id, parent_id FROM sync.files WHERE trash_id = $1 LIMIT $2", .id(root),
      .integer(WorkBudget.counted + 1)
    ) { row in (id: try row.id(0), parent: try row.id(1)) }
    guard files.count <= WorkBudget.counted else { return nil }
    var children = Dictionary(grouping: files, by: \.parent)
    var (level, levels) = ([root], Int64(-1))
    while !level.isEmpty {
      levels += 1
      level = level.flatMap { children.removeValue(forKey: $0) ?? [] }.map(\.id)
    }
    return levels
  }

  /// Takes the mark of the deletion from a record, which gets the number `$2`.
  private static let unmarked = """
    deleted = 0, deleted_ms = NULL, deleted_with = NULL, trash_id = NULL, seq = $2
    """

  private static func place(
    _ transaction: Transaction, _ placement: Placement, number: Int64
  ) throws {
    let statement = placement.statement
    try transaction.execute(
      """
      UPDATE sync.files SET \(unmarked), parent_id = $3, name = $4, name_hmac = $5,
        file_key = $6, author_key = $7, signature = $8
      WHERE id = $1
      """, .id(statement.id), .integer(number), .id(statement.parent),
      .blob(statement.name.ciphertext),
      .blob(statement.name.hmac), .blob(statement.key), .blob(placement.author),
      .blob(placement.signature))
  }
}

extension AncestorTree {
  /// Notes in the folder and those above that a file came back with at most `height` levels below it.
  mutating func raise(
    above parent: Identifier, height: Int64, _ transaction: Transaction
  ) throws {
    for (level, folder) in chain(parent).enumerated() {
      let levels = height + Int64(level) + 1
      guard folder.height < levels else { continue }
      try transaction.execute(
        "UPDATE sync.files SET height = $2 WHERE id = $1", .id(folder.id), .integer(levels))
      raise(folder.id, to: levels)
    }
  }
}
