import Accounts
import Base
import Storage

/// Counts what capped folders hold, if that is more than one write counts. A count is one snapshot; the difference to
/// what was posted by then is posted, so writers go on meanwhile.
struct FolderCount {
  private let cap: FolderCap
  private let byteCount: Int64

  private static let isDue = FailingItems.isDue(.folders, "folder_caps.folder_id", at: "$1")

  /// A folder to count, and its owner; nil if none is due.
  static func next(
    _ reader: Reader, now: Instant
  ) throws -> (folder: Identifier, owner: Identifier)? {
    try reader.first(
      """
      SELECT folder_id, owner_id FROM sync.folder_caps
      WHERE counted_number < count_number AND \(isDue) ORDER BY folder_id LIMIT 1
      """, .instant(now)
    ) { row in (try row.id(0), try row.id(1)) }
  }

  /// Nil if the folder has no cap any more.
  init?(_ reader: Reader, _ folder: Identifier, fee: Int64) throws {
    guard let cap = try FolderCap.find(reader, folder),
      let weight = try FolderWeight(below: folder, reader, fee: fee)
    else { return nil }
    (self.cap, byteCount) = (cap, weight.byteCount)
  }

  /// Posts the difference, unless something happened since that has the folder counted again anyway.
  func post(_ transaction: Transaction) throws {
    try transaction.execute(
      """
      UPDATE sync.folder_caps SET used_bytes = used_bytes + $3, counted_number = count_number
      WHERE folder_id = $1 AND count_number = $2
      """, .id(cap.folder), .integer(cap.countNumber), .integer(byteCount - cap.postedByteCount))
  }
}
