import Accounts
package import Base
package import Storage
import Tiers

/// How many bytes a folder may hold, as its owner set it, so that whoever may write into it cannot use up the owner's
/// room. A folder holds what its owner is charged for below it: live records with their fee and content, versions,
/// and what the trash keeps. Every change of that charge is posted to each capped folder above, in its transaction.
package struct FolderCap: Sendable, Equatable {
  package let folder: Identifier
  package let byteCount: Int64
  /// What was posted since it was counted last. Only a folder that was counted holds just that.
  let postedByteCount: Int64
  /// Raised when it must be counted again.
  let countNumber: Int64
  /// The last of these numbers that was counted; 0 if none was.
  let countedNumber: Int64
  /// The room promised to uploads under way, if that was asked.
  private var promisedByteCount: Int64 = 0

  /// The most capped folders of one account.
  static let countMax: Int64 = 100
  /// The most files that one write counts: below a folder that gets a cap, or that moves into a capped one.
  static let countedCountMax = 4000

  private static let columns = "folder_id, cap_bytes, used_bytes, count_number, counted_number"

  private init(row: borrowing Row) throws {
    folder = try row.id(0)
    byteCount = try row.integer(1)
    postedByteCount = try row.integer(2)
    countNumber = try row.integer(3)
    countedNumber = try row.integer(4)
  }

  /// The bytes that the folder holds; nil until they are counted for the first time.
  package var usedByteCount: Int64? { countedNumber > 0 ? postedByteCount : nil }

  var isCounted: Bool { countedNumber == countNumber }

  /// Whether the folder has room for a change.
  ///
  /// - Throws: `DatabaseError.busy` for growth of a folder that is not counted yet.
  func fits(_ delta: Int64) throws -> Bool {
    guard delta > 0 else { return true }
    guard let usedByteCount else { throw DatabaseError.busy(retryAfterSeconds: 2) }
    return Quota.admission(usage: usedByteCount + promisedByteCount, delta: delta, cap: byteCount)
      == .admitted
  }

  /// Refuses growth that has no room. Only who sees the folder is told of it.
  func require(
    _ delta: Int64, of owner: Identifier, askedBy caller: Identifier, _ queryable: some Queryable
  ) throws {
    guard try !fits(delta) else { return }
    var tree = AncestorTree(seenBy: caller)
    try tree.load(folder, queryable)
    throw Refusal.folderFull(
      FolderFull(
        folder: folder, capByteCount: byteCount, usedByteCount: usedByteCount, owner: owner,
        delta: promisedByteCount + delta, isSeen: tree.role(folder) > .invited))
  }

  // MARK: Rows

  package static func find(
    _ queryable: some Queryable, _ folder: Identifier
  ) throws -> FolderCap? {
    try queryable.first(
      "SELECT \(columns) FROM sync.folder_caps WHERE folder_id = $1", .id(folder)
    ) { row in try FolderCap(row: row) }
  }

  static func all(_ queryable: some Queryable, of owner: Identifier) throws -> [FolderCap] {
    try queryable.rows(
      "SELECT \(columns) FROM sync.folder_caps WHERE owner_id = $1 ORDER BY folder_id", .id(owner)
    ) { row in try FolderCap(row: row) }
  }

  /// The folders above the file `$1`.
  private static let foldersAbove = """
    WITH RECURSIVE above (id) AS (
      SELECT parent_id FROM sync.files WHERE id = $1 AND parent_id <> id
      UNION
      SELECT f.parent_id FROM above AS a JOIN sync.files AS f ON f.id = a.id
      WHERE f.parent_id <> f.id)
    SELECT id FROM above
    """

  static func above(
    _ file: Identifier, of owner: LockedOwner, _ queryable: some Queryable
  ) throws -> [FolderCap] {
    guard owner.hasFolderCaps else { return [] }
    return try queryable.rows(
      "SELECT \(columns) FROM sync.folder_caps WHERE folder_id IN (\(foldersAbove))", .id(file)
    ) { row in try FolderCap(row: row) }
  }

  /// What the uploads of an owner that are under way will add to each capped folder: the growth of their documents.
  /// An owner has few uploads under way (`Reservations`), and each costs the depth of its document.
  static func promised(
    to owner: Identifier, _ queryable: some Queryable, now: Instant
  ) throws -> [Identifier: Int64] {
    let sums = try queryable.rows(
      """
      WITH RECURSIVE above (object_id, growth, id) AS (
        SELECT r.object_id, r.bytes - f.content_bytes, f.parent_id
        FROM sync.reservations AS r JOIN sync.files AS f ON f.id = r.file_id
        WHERE r.owner_id = $1 AND r.expires_ms > $2 AND r.bytes > f.content_bytes
          AND f.parent_id <> f.id
        UNION
        SELECT a.object_id, a.growth, f.parent_id
        FROM above AS a JOIN sync.files AS f ON f.id = a.id WHERE f.parent_id <> f.id)
      SELECT c.folder_id, CAST(sum(a.growth) AS BIGINT)
      FROM above AS a JOIN sync.folder_caps AS c ON c.folder_id = a.id GROUP BY c.folder_id
      """, .id(owner), .instant(now)
    ) { row in (folder: try row.id(0), byteCount: try row.integer(1)) }
    return Dictionary(uniqueKeysWithValues: sums.map { ($0.folder, $0.byteCount) })
  }

  mutating func promise(_ byteCount: Int64) { promisedByteCount = byteCount }

  /// Posts a change of an owner's charge for a file, or for its siblings, to the folders above.
  static func post(
    _ delta: Int64, above file: Identifier, of owner: LockedOwner, _ transaction: Transaction
  ) throws {
    guard owner.hasFolderCaps, delta != 0 else { return }
    try transaction.execute(
      """
      UPDATE sync.folder_caps SET used_bytes = used_bytes + $2 WHERE folder_id IN (\(foldersAbove))
      """, .id(file), .integer(delta))
  }

  func post(_ delta: Int64, _ transaction: Transaction) throws {
    guard delta != 0 else { return }
    try transaction.execute(
      "UPDATE sync.folder_caps SET used_bytes = used_bytes + $2 WHERE folder_id = $1",
      .id(folder), .integer(delta))
  }

  /// Has the folder counted again, because what it holds changed without being posted.
  func countAgain(_ transaction: Transaction) throws {
    try transaction.execute(
      "UPDATE sync.folder_caps SET count_number = count_number + 1 WHERE folder_id = $1",
      .id(folder))
  }

  /// Forgets a folder's cap with the folder. What is left below it is no longer below the capped folders above.
  static func forget(_ folder: Identifier, _ transaction: Transaction) throws {
    try transaction.execute(
      """
      UPDATE sync.folder_caps SET count_number = count_number + 1
      WHERE folder_id IN (\(foldersAbove))
        AND EXISTS (SELECT 1 FROM sync.files AS f WHERE f.parent_id = $1 AND f.deleted = 1)
      """, .id(folder))
    try transaction.execute("DELETE FROM sync.folder_caps WHERE folder_id = $1", .id(folder))
  }

  // MARK: Setting

  /// Sets the cap of a folder, or removes it. The owner's row must be locked.
  ///
  /// - Throws: A `Refusal` if the account has no such folder, or too many caps.
  /// - Returns: What is in force now.
  package static func set(
    _ transaction: Transaction, _ folder: Identifier, of account: Identifier, byteCount: Int64?,
    fee: Int64
  ) throws -> FolderCap? {
    var tree = AncestorTree(seenBy: account)
    let file = try tree.file(folder, transaction)
    guard file.owner == account else { throw Refusal.notPermitted }
    guard !file.isDeleted else { throw Refusal.fileDeleted }
    guard file.kind == .folder else { throw Refusal.notAFolder }
    guard let byteCount else {
      try transaction.execute("DELETE FROM sync.folder_caps WHERE folder_id = $1", .id(folder))
      return nil
    }
    if try find(transaction, folder) == nil {
      let count = try transaction.number(
        "SELECT count(*) FROM sync.folder_caps WHERE owner_id = $1", .id(account))
      guard count < countMax else { throw Refusal.tooManyFolderCaps(max: countMax) }
      // A count that began under an earlier cap of the folder must not be posted to this one.
      let number = Int64.random(in: 1...(1 << 60))
      // More than one write counts is counted by `FolderCount`.
      let counted = try FolderWeight(
        below: folder, transaction, fee: fee, countMax: countedCountMax)
      try transaction.execute(
        """
        INSERT INTO sync.folder_caps (folder_id, owner_id, cap_bytes, used_bytes, count_number,
          counted_number)
        VALUES ($1, $2, $3, $4, $5, $6)
        """, .id(folder), .id(account), .integer(byteCount), .integer(counted?.byteCount ?? 0),
        .integer(number), .integer(counted == nil ? 0 : number))
      try transaction.execute(
        "UPDATE sync.accounts SET caps_folders = 1 WHERE id = $1", .id(account))
    } else {
      try transaction.execute(
        "UPDATE sync.folder_caps SET cap_bytes = $2 WHERE folder_id = $1", .id(folder),
        .integer(byteCount))
    }
    return try find(transaction, folder)
  }
}
