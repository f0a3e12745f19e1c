import Accounts
import Base
import Storage

/// Marks everything below deleted folders as deleted, and deletes the versions of deleted documents. A deletion is a
/// mark on the folder and takes effect at once. Its descendants follow in small transactions, so that no one waits
/// long for the owner's row. The queue is a table, so a crash loses nothing.
enum Deletions {
  /// The most files in one slice, and the most accounts that its links and invitations may involve.
  static let sliceCountMax = 250
  private static let accountCountMax = 250

  /// Takes content and charge of a file that the user deleted, or puts it into the trash. The caller marks it.
  static func perform(
    _ transaction: Transaction, _ file: FileRecord, by key: [UInt8], number: Int64,
    keptFor span: Instant.Span?, _ owners: inout LockedOwners, fee: Int64, now: Instant
  ) throws {
    if span != nil {
      try Trash.put(transaction, file, by: key, number: number, fee: fee, now: now)
    } else {
      try dropContent(transaction, file, now: now)
      // What an earlier restore left in the trash has no folder to come back to.
      try Trash.find(transaction, file.id)?.become(.purging, transaction)
    }
    try begin(
      transaction, file, of: try owners.require(file.owner), keepsVersions: span != nil, now: now)
    let weight = fee + file.contentByteCount
    try owners.change(file.owner) { owner in
      owner.charge(
        span == nil ? -weight : 0, trash: span == nil ? 0 : weight, records: span == nil ? -1 : 0,
        reason: .recordDeleted, file: file.id, sequence: number)
      if let span { owner.lookForKept(at: now + min(span, Versions.pauseMax)) }
    }
  }

  /// Queues a file that the user deleted: a folder with children to mark, or a document with versions to delete.
  private static func begin(
    _ transaction: Transaction, _ file: FileRecord, of owner: LockedOwner, keepsVersions: Bool,
    now: Instant
  ) throws {
    guard
      file.kind == .folder
        || file.kind == .document && owner.mayHaveVersions && !keepsVersions
    else { return }
    let rest =
      file.kind == .folder
      ? "sync.files WHERE parent_id = $1 AND deleted = 0" : "sync.versions WHERE file_id = $1"
    try transaction.execute(
      """
      INSERT INTO sync.deletions (folder_id, owner_id, deleted_with, since_ms)
      SELECT id, $2, id, $3 FROM sync.files WHERE id = $1 AND EXISTS (SELECT 1 FROM \(rest))
      """, .id(file.id), .id(file.owner), .instant(now))
  }

  private static func dropContent(_ transaction: Transaction, _ record: FileRecord, now: Instant)
    throws
  {
    guard record.contentVersion > 0 else { return }
    if let object = record.objectID {
      try Garbage.add(
        transaction, object, of: record.owner, byteCount: record.contentByteCount, since: now)
    } else {
      try transaction.execute(
        "DELETE FROM sync.inline_contents WHERE file_id = $1", .id(record.id))
    }
    try transaction.execute(
      "UPDATE sync.files SET content_bytes = 0, object_id = NULL WHERE id = $1", .id(record.id))
  }

  /// Marks one slice of the children of one owner's folders.
  static func sweep(
    _ transaction: Transaction, _ jobs: [DeletionJob], metadataFeeByteCount fee: Int64,
    now: Instant, count: Int = sliceCountMax
  ) throws {
    guard let owner = jobs.first?.owner else { return }
    let visibility = Visibility(transaction, now: now)
    var owners = try LockedOwners(
      transaction, try concerned(jobs, owner, visibility, count: count))
    var room = count
    for job in jobs where room > 0 {
      // Read again: another instance may have marked them while this one waited for the rows.
      let children = try job.children(visibility, count: room)
      let files = children.files.prefix { children.accounts($0).isSubset(of: owners.accounts) }
      try job.mark(Array(files), of: children, visibility, &owners, fee: fee)
      room -= files.count
      let isMarked = files.count == children.files.count && room > 0
      if try isMarked && job.dropVersions(transaction, &owners, &room, now: now) {
        try job.end(transaction)
      } else {
        try job.postpone(transaction, until: now)
      }
    }
    try owners.save(transaction, now: now)
  }

  /// The accounts whose rows change with the slice. If there are too many, its rest waits, but not the first file.
  private static func concerned(
    _ jobs: [DeletionJob], _ owner: Identifier, _ visibility: Visibility, count: Int
  ) throws -> Set<Identifier> {
    var accounts: Set = [owner]
    var room = count
    for job in jobs where room > 0 {
      let children = try job.children(visibility, count: room)
      for file in children.files {
        let more = accounts.union(children.accounts(file))
        guard room == count || more.count <= accountCountMax else { return accounts }
        accounts = more
        room -= 1
      }
    }
    return accounts
  }
}

extension FailingItems.Queue {
  /// Folders whose children must be marked deleted.
  static let deletions = Self("deletions")
  /// Trash that is emptied or restored, by its root.
  static let trash = Self("trash")
}
