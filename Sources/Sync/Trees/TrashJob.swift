import Accounts
import Base
import Storage

/// Empties or restores what a trash entry holds, one slice a transaction.
struct TrashJob {
  let entry: Trash

  private static let isDue = FailingItems.isDue(.trash, "trash.root_id", at: "$1")
  private static let sliceCountMax: Int64 = 250
  /// The most accounts whose rows one slice changes, unless it has one file.
  private static let accountCountMax = 250

  /// The next entry to work on. One whose files are still being marked waits.
  static func next(_ transaction: Transaction, now: Instant) throws -> TrashJob? {
    try transaction.first(
      """
      SELECT \(Trash.columns) FROM sync.trash WHERE state <> 'kept'
        AND NOT EXISTS (SELECT 1 FROM sync.deletions AS d WHERE d.deleted_with = trash.root_id)
        AND \(isDue)
      ORDER BY deleted_ms LIMIT 1
      """, .instant(now)
    ) { row in TrashJob(entry: try Trash(row: row)) }
  }

  func work(_ transaction: Transaction, fee: Int64, now: Instant) throws {
    let visibility = Visibility(transaction, now: now)
    var files = try files(transaction)
    var isLast = files.count < Self.sliceCountMax
    var invited = try self.invited(files, transaction)
    if Set(invited.values.joined()).count > Self.accountCountMax {
      isLast = isLast && files.count == 1
      files = Array(files.prefix(1))
      invited = invited.filter { $0.key == files.first?.id || $0.key == entry.root }
    }
    var owners = try LockedOwners(
      transaction, Set(invited.values.joined()).union([entry.owner]))
    // Read again under the lock: another instance may have come first.
    guard let entry = try Trash.find(transaction, entry.root), entry.state == self.entry.state,
      entry.walked == self.entry.walked
    else { return }
    var (bytes, records) = (Int64(0), Int64(0))
    var tree = AncestorTree(seenBy: entry.owner)
    if entry.state == .restoring { try tree.load(files.map(\.parent), transaction) }
    if entry.walked == 0 { try renew(entry.root, invited, visibility, &owners) }
    for file in files {
      if entry.state == .purging {
        guard try purge(file, transaction, now: now) else { continue }
      } else {
        guard try restore(file, transaction, &tree, &owners) else { continue }
        try renew(file.id, invited, visibility, &owners)
      }
      bytes += fee + file.byteCount
      records += 1
      if entry.state == .purging {
        try FolderCap.post(
          -fee - file.byteCount, above: file.id, of: owners.require(entry.owner), transaction)
      }
    }
    if let first = files.first, records > 0 {
      let isPurge = entry.state == .purging
      try owners.change(entry.owner) { owner in
        owner.charge(
          isPurge ? -bytes : 0, trash: -bytes, records: isPurge ? -records : 0,
          reason: .trashPurged, file: first.id, sequence: owner.nextSequence(quietly: isPurge))
      }
    }
    try Trash.count(transaction, entry.root, bytes: -bytes, records: -records)
    if isLast {
      try end(transaction, &owners, now: now)
    } else {
      try transaction.execute(
        "UPDATE sync.trash SET walked_seq = $2 WHERE root_id = $1", .id(entry.root),
        .integer(files.last?.sequence ?? 0))
    }
    try owners.save(transaction, now: now)
  }

  /// The accounts whose share of one of the files, or of the root, waits for an answer. Only a restore is news to them.
  private func invited(
    _ files: [File], _ transaction: Transaction
  ) throws -> [Identifier: [Identifier]] {
    guard entry.state == .restoring else { return [:] }
    let ids = files.map(\.id) + (entry.walked == 0 ? [entry.root] : [])
    let found = try transaction.rows(in: ids.map { .id($0) }) { list in
      "SELECT file_id, account_id FROM sync.shares WHERE state = 'pending' AND file_id IN (\(list))"
    } row: { row in
      (file: try row.id(0), account: try row.id(1))
    }
    return Dictionary(grouping: found, by: \.file).mapValues { $0.map(\.account) }
  }

  private func renew(
    _ file: Identifier, _ invited: [Identifier: [Identifier]], _ visibility: Visibility,
    _ owners: inout LockedOwners
  ) throws {
    for account in (invited[file] ?? []).sorted() { try visibility.renew(file, account, &owners) }
  }

  private struct File {
    let id: Identifier
    let sequence: Int64
    let parent: Identifier
    let hmac: [UInt8]?
    let object: Identifier?
    let byteCount: Int64
    /// At least the number of levels below.
    let height: Int64
  }

  /// The next files, parents before their children, because they were marked in this order.
  private func files(_ transaction: Transaction) throws -> [File] {
    try transaction.rows(
      """
      SELECT id, seq, parent_id, name_hmac, object_id, content_bytes, height FROM sync.files
      WHERE trash_id = $1 AND seq > $2 ORDER BY seq LIMIT $3
      """, .id(entry.root), .integer(entry.walked), .integer(Self.sliceCountMax)
    ) { row in
      File(
        id: try row.id(0), sequence: try row.integer(1), parent: try row.id(2),
        hmac: try row.optionalBlob(3), object: try row.optionalID(4), byteCount: try row.integer(5),
        height: try row.integer(6))
    }
  }

  /// Leaves only the mark of the deletion. Returns false if the file had left the entry before the lock.
  private func purge(_ file: File, _ transaction: Transaction, now: Instant) throws -> Bool {
    let count = try transaction.execute(
      """
      UPDATE sync.files SET trash_id = NULL, content_bytes = 0, object_id = NULL
      WHERE id = $1 AND trash_id = $2
      """, .id(file.id), .id(entry.root))
    guard count == 1 else { return false }
    if let object = file.object {
      try Garbage.add(transaction, object, of: entry.owner, byteCount: file.byteCount, since: now)
    } else {
      try transaction.execute("DELETE FROM sync.inline_contents WHERE file_id = $1", .id(file.id))
    }
    try transaction.execute(
      """
      INSERT INTO sync.deletions (folder_id, owner_id, deleted_with, since_ms)
      SELECT id, owner_id, $2, $3 FROM sync.files WHERE id = $1 AND EXISTS (
        SELECT 1 FROM sync.versions WHERE file_id = $1)
      """, .id(file.id), .id(entry.root), .instant(now))
    return true
  }

  /// Unmarks a file whose parent is live, unless a newer file has its name or a move made it too deep. Returns
  /// whether it did. The parents' chains must be in the tree.
  private func restore(
    _ file: File, _ transaction: Transaction, _ tree: inout AncestorTree,
    _ owners: inout LockedOwners
  ) throws -> Bool {
    let room = PlannedTree.room(in: tree.chain(file.parent))
    guard room >= 0 else { return false }
    let isFree = try transaction.hasRow(
      """
      SELECT 1 FROM sync.files AS p WHERE p.id = $1 AND p.deleted = 0 AND NOT EXISTS (
        SELECT 1 FROM sync.files AS f
        WHERE f.parent_id = $1 AND f.name_hmac = $2 AND f.deleted = 0)
      """, .id(file.parent), .blob(file.hmac))
    guard isFree else { return false }
    let count = try transaction.execute(
      """
      UPDATE sync.files SET deleted = 0, deleted_ms = NULL, deleted_with = NULL, trash_id = NULL,
        seq = $2 WHERE id = $1 AND trash_id = $3
      """, .id(file.id), .integer(try owners.nextSequence(of: entry.owner)), .id(entry.root))
    guard count == 1 else { return false }
    // A folder's height may be outdated. What is below it is judged when it comes back itself.
    try tree.raise(above: file.parent, height: min(file.height, room), transaction)
    return true
  }

  /// What could not be restored stays in the trash, until it is due.
  private func end(
    _ transaction: Transaction, _ owners: inout LockedOwners, now: Instant
  ) throws {
    let isLeft = try transaction.hasRow(
      "SELECT 1 FROM sync.files WHERE trash_id = $1 LIMIT 1", .id(entry.root))
    if isLeft {
      try owners.change(entry.owner) { $0.lookForKept(at: now) }
      return try entry.become(.kept, transaction)
    }
    try transaction.execute("DELETE FROM sync.trash WHERE root_id = $1", .id(entry.root))
  }
}
