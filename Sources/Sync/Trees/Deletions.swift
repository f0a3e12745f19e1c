internal import Base
internal import Storage

/// Makes what lies beneath deleted folders explicitly deleted, a slice at a time.
///
/// The deletion itself is a mark on the folder and effective at once. What lived beneath it follows
/// in transactions of their own, each small enough that nobody waits long for the owner's row, and
/// the space is credited as they go. The queue is a table, so a crash between two slices loses nothing.
enum Deletions {
  /// Files of one slice, and accounts that its links and invitations may concern.
  static let sliceCountMax = 250
  private static let accountCountMax = 250

  /// Queues a folder whose children are still to be marked.
  static func begin(
    _ transaction: Transaction, _ folder: Identifier, with: Identifier, _ owner: Identifier,
    now: Instant
  ) throws {
    try transaction.execute(
      """
      INSERT INTO sync.deletions (folder_id, owner_id, deleted_with, since_ms)
      SELECT id, $2, $3, $4 FROM sync.files WHERE id = $1 AND EXISTS (
        SELECT 1 FROM sync.files WHERE parent_id = $1 AND deleted = 0)
      """, .id(folder), .id(owner), .id(with), .instant(now))
  }

  /// Gives up a document's content, whose space its owner gets back.
  static func dropContent(_ transaction: Transaction, _ record: FileRecord, now: Instant) throws {
    guard record.contentVersion > 0 else { return }
    if let object = record.objectID {
      try Reservations.discard(transaction, object, now: now)
    } else {
      try transaction.execute(
        "DELETE FROM sync.inline_contents WHERE file_id = $1", .id(record.id))
    }
    try transaction.execute(
      "UPDATE sync.files SET content_bytes = 0, object_id = NULL WHERE id = $1", .id(record.id))
  }

  /// Marks one slice of the folder that has waited longest; false where none is waiting.
  static func sweep(
    _ transaction: Transaction, metadataFeeByteCount fee: Int64, now: Instant,
    count: Int = sliceCountMax
  ) throws -> Bool {
    guard let job = try Job.longestWaiting(transaction) else { return false }
    let visibility = Visibility(transaction, now: now)
    let waiting = try job.slice(transaction, count: count)
    let (accounts, taken) = try concerned(waiting, job, visibility)
    var owners = try LockedOwners(transaction, accounts)
    // Read again: another instance may have marked them while this one waited for the rows.
    for file in try job.slice(transaction, count: taken) {
      try mark(file, job, visibility, &owners, fee: fee)
    }
    try owners.save(transaction, now: now)
    if taken < count, taken == waiting.count {
      try transaction.execute(
        "DELETE FROM sync.deletions WHERE folder_id = $1", .id(job.folder))
    } else {
      // Behind all others: a long deletion does not hold up a short one.
      try transaction.execute(
        "UPDATE sync.deletions SET since_ms = $2 WHERE folder_id = $1",
        .id(job.folder), .instant(now))
    }
    return true
  }

  /// The accounts whose rows the marking of files changes, for as many files as is not too much.
  private static func concerned(
    _ files: [FileRecord], _ job: Job, _ visibility: Visibility
  ) throws -> (accounts: Set<Identifier>, fileCount: Int) {
    var accounts: Set = [job.owner]
    for (index, file) in files.enumerated() {
      var more = accounts.union(try visibility.invited(to: file.id))
      if let target = file.target, let owner = try visibility.owner(of: target) {
        more.insert(owner)
      }
      guard index == 0 || more.count <= accountCountMax else { return (accounts, index) }
      accounts = more
    }
    return (accounts, files.count)
  }

  private static func mark(
    _ file: FileRecord, _ job: Job, _ visibility: Visibility, _ owners: inout LockedOwners,
    fee: Int64
  ) throws {
    let (transaction, now) = (visibility.transaction, visibility.now)
    let version = try owners.nextSequence(of: job.owner)
    try dropContent(transaction, file, now: now)
    try transaction.execute(
      """
      UPDATE sync.files SET deleted = 1, deleted_ms = $2, deleted_with = $3, seq = $4 WHERE id = $1
      """, .id(file.id), .instant(now), .id(job.deletedWith), .integer(version))
    try owners.change(job.owner) { owner in
      owner.charge(
        -fee - file.contentByteCount, records: -1, reason: .recordDeleted, file: file.id,
        sequence: version)
    }
    if file.kind == .folder {
      try begin(transaction, file.id, with: job.deletedWith, job.owner, now: now)
    }
    if let target = file.target { try visibility.unlink(target, job.owner, &owners) }
    try visibility.renew(file.id, &owners)
  }

  private struct Job {
    let folder: Identifier
    let owner: Identifier
    let deletedWith: Identifier

    static func longestWaiting(_ transaction: Transaction) throws -> Job? {
      try transaction.first(
        """
        SELECT folder_id, owner_id, deleted_with FROM sync.deletions
        ORDER BY since_ms, folder_id LIMIT 1
        """
      ) { row in
        Job(folder: try row.id(0), owner: try row.id(1), deletedWith: try row.id(2))
      }
    }

    func slice(_ transaction: Transaction, count: Int) throws -> [FileRecord] {
      try transaction.rows(
        """
        SELECT \(FileRecord.columns) FROM sync.files WHERE parent_id = $1 AND deleted = 0
        ORDER BY name_hmac LIMIT $2
        """, .id(folder), .integer(Int64(count))
      ) { row in try FileRecord(row: row) }
    }
  }
}
