import Accounts
import Base
import Storage

/// A deleted folder with live children still to be marked, or a deleted document with versions. A few statements mark
/// a whole slice, because the round trips for a million files one by one would take an hour.
struct DeletionJob {
  let folder: Identifier
  let owner: Identifier
  let deletedWith: Identifier

  /// The most small folders in one slice.
  private static let countMax = 16
  /// The same files in the same order while the owner's row is held.
  private static let slice = """
    SELECT id FROM sync.files WHERE parent_id = $1 AND deleted = 0 ORDER BY name_hmac LIMIT $2
    """

  /// The most folders examined that are due later.
  private static let laterCountMax = 64
  private static let isDue = FailingItems.isDue(.deletions, "later.folder_id", at: "$2")

  /// The folders of one owner that are due, or, if none is, some that a fast clock put in the future.
  static func longestWaiting(_ transaction: Transaction, now: Instant) throws -> [DeletionJob] {
    let due = try jobs(
      transaction, "FROM sync.deletions WHERE since_ms <= $2 ORDER BY since_ms, folder_id", now)
    guard due.isEmpty else { return due }
    return try jobs(
      transaction,
      """
      FROM (SELECT * FROM sync.deletions WHERE since_ms > $2
        ORDER BY since_ms, folder_id LIMIT \(laterCountMax)) AS later
      WHERE \(isDue) ORDER BY since_ms, folder_id
      """, now)
  }

  private static func jobs(
    _ transaction: Transaction, _ source: String, _ now: Instant
  ) throws -> [DeletionJob] {
    let jobs = try transaction.rows(
      "SELECT folder_id, owner_id, deleted_with \(source) LIMIT $1", .integer(Int64(countMax)),
      .instant(now)
    ) { row in
      DeletionJob(folder: try row.id(0), owner: try row.id(1), deletedWith: try row.id(2))
    }
    return Array(jobs.prefix { $0.owner == jobs[0].owner })
  }

  func end(_ transaction: Transaction) throws {
    try transaction.execute("DELETE FROM sync.deletions WHERE folder_id = $1", .id(folder))
  }

  /// Deletes some of a document's versions, `room` at most. Returns whether none is left.
  func dropVersions(
    _ transaction: Transaction, _ owners: inout LockedOwners, _ room: inout Int, now: Instant
  ) throws -> Bool {
    guard try owners.require(owner).mayHaveVersions else { return true }
    let versions = try Versions.newest(transaction, of: folder, limit: room)
    guard let first = versions.first else { return true }
    try Versions.drop(transaction, versions, of: owner, now: now)
    try owners.change(owner) { owner in
      owner.charge(
        -versions.byteCount, history: -versions.byteCount, reason: .versionsDropped,
        file: first.file, sequence: owner.nextSequence(quietly: true))
      try FolderCap.post(-versions.byteCount, above: folder, of: owner, transaction)
    }
    defer { room -= versions.count }
    return versions.count < room
  }

  /// Puts the folder behind all that are due before, so that a long deletion does not delay a short one.
  func postpone(_ transaction: Transaction, until due: Instant) throws {
    try transaction.execute(
      "UPDATE sync.deletions SET since_ms = $2 WHERE folder_id = $1", .id(folder), .instant(due))
  }

  /// Some of the folder's live children, and the other accounts involved.
  struct Children {
    struct File {
      let id: Identifier
      let kind: FileRecord.Kind
      let target: Identifier?
      let contentVersion: Int64
      let contentByteCount: Int64
      let objectID: Identifier?
    }

    let files: [File]
    let invited: [Identifier: Set<Identifier>]
    let targetOwners: [Identifier: Identifier]

    /// The accounts besides the owner whose rows change when the file is marked.
    func accounts(_ file: File) -> Set<Identifier> {
      let owner = file.target.flatMap { targetOwners[$0] }
      return (invited[file.id] ?? []).union(owner.map { [$0] } ?? [])
    }
  }

  func children(_ visibility: Visibility, count: Int) throws -> Children {
    let files = try visibility.transaction.rows(
      """
      SELECT id, kind, target_id, content_version, content_bytes, object_id FROM sync.files
      WHERE parent_id = $1 AND deleted = 0 ORDER BY name_hmac LIMIT $2
      """, .id(folder), .integer(Int64(count))
    ) { row in
      Children.File(
        id: try row.id(0), kind: FileRecord.Kind(rawValue: try row.text(1)) ?? .document,
        target: try row.optionalID(2), contentVersion: try row.integer(3),
        contentByteCount: try row.integer(4), objectID: try row.optionalID(5))
    }
    let invited = try visibility.transaction.rows(
      """
      SELECT file_id, account_id FROM sync.shares
      WHERE state = 'pending' AND file_id IN (\(Self.slice))
      """, .id(folder), .integer(Int64(count))
    ) { row in (file: try row.id(0), account: try row.id(1)) }
    var targetOwners: [Identifier: Identifier] = [:]
    for target in files.compactMap(\.target) {
      targetOwners[target] = try FileRecord.owner(visibility.transaction, of: target)
    }
    return Children(
      files: files,
      invited: Dictionary(grouping: invited, by: \.file).mapValues { Set($0.map(\.account)) },
      targetOwners: targetOwners)
  }

  func mark(
    _ files: [Children.File], of children: Children, _ visibility: Visibility,
    _ owners: inout LockedOwners, fee: Int64
  ) throws {
    guard let first = files.first else { return }
    let (transaction, now) = (visibility.transaction, visibility.now)
    let count = SQLValue.integer(Int64(files.count))
    let isKept = try Trash.find(transaction, deletedWith)?.state == .kept
    if !isKept { try drop(files, transaction, now: now) }
    func queue(_ kind: String, _ rest: String) throws {
      guard files.contains(where: { $0.kind.rawValue == kind }) else { return }
      try transaction.execute(
        """
        INSERT INTO sync.deletions (folder_id, owner_id, deleted_with, since_ms)
        SELECT f.id, f.owner_id, $3, $4 FROM sync.files AS f
        WHERE f.id IN (\(Self.slice)) AND f.kind = '\(kind)' AND EXISTS (SELECT 1 FROM \(rest))
        """, .id(folder), count, .id(deletedWith), .instant(now))
    }
    try queue("folder", "sync.files AS c WHERE c.parent_id = f.id AND c.deleted = 0")
    if try !isKept && owners.require(owner).mayHaveVersions {
      try queue("document", "sync.versions AS c WHERE c.file_id = f.id")
    }
    let kept = isKept ? files.filter { $0.kind != .link } : []
    let weight = files.reduce(0) { $0 + fee + $1.contentByteCount }
    let keptWeight = kept.reduce(0) { $0 + fee + $1.contentByteCount }
    let before = try owners.change(owner) { owner in
      let before = owner.takeSequences(files.count)
      owner.charge(
        keptWeight - weight, trash: keptWeight, records: Int64(kept.count - files.count),
        reason: .recordDeleted, file: first.id, sequence: before + 1)
      try FolderCap.post(keptWeight - weight, above: first.id, of: owner, transaction)
      return before
    }
    if isKept {
      try Trash.count(
        transaction, deletedWith, bytes: keptWeight, records: Int64(kept.count),
        links: Int64(files.count - kept.count))
    }
    let rest =
      isKept
      ? "trash_id = CASE WHEN f.kind = 'link' THEN NULL ELSE $4 END"
      : "content_bytes = 0, object_id = NULL"
    try transaction.execute(
      """
      UPDATE sync.files AS f
      SET deleted = 1, deleted_ms = $3, deleted_with = $4, seq = $5 + s.place,
        \(rest)
      FROM (
        SELECT id, row_number() OVER (ORDER BY name_hmac) AS place FROM sync.files
        WHERE parent_id = $1 AND deleted = 0 ORDER BY name_hmac LIMIT $2) AS s
      WHERE f.id = s.id
      """, .id(folder), count, .instant(now), .id(deletedWith), .integer(before))
    for file in files {
      if let target = file.target { try visibility.link(target, owner, isMade: false, &owners) }
      if children.invited[file.id] != nil { try visibility.renew(file.id, &owners) }
    }
  }

  private func drop(_ files: [Children.File], _ transaction: Transaction, now: Instant) throws {
    let count = SQLValue.integer(Int64(files.count))
    if files.contains(where: { $0.objectID != nil }) {
      try transaction.execute(
        """
        INSERT INTO sync.garbage (object_id, since_ms, owner_id, bytes)
        SELECT object_id, $3, owner_id, content_bytes FROM sync.files
        WHERE id IN (\(Self.slice)) AND object_id IS NOT NULL
        """, .id(folder), count, .instant(now))
      try Garbage.keep(
        transaction,
        files.reduce(0) { $0 + ($1.objectID == nil ? 0 : $1.contentByteCount) }, of: owner)
    }
    if files.contains(where: { $0.contentVersion > 0 && $0.objectID == nil }) {
      try transaction.execute(
        "DELETE FROM sync.inline_contents WHERE file_id IN (\(Self.slice))", .id(folder), count)
    }
  }
}
