import Base
import Storage

/// What an owner is charged for below a folder, or for one file with everything below it.
struct FolderWeight {
  private(set) var byteCount: Int64 = 0
  private(set) var fileCount = 0

  /// Folders in one statement.
  private static let folderCountMax = 64

  /// Everything below a folder, in one snapshot; nil if there are more files than `countMax`.
  init?(
    below folder: Identifier, _ queryable: some Queryable, fee: Int64, countMax: Int = .max,
    without moved: Set<Identifier> = []
  ) throws {
    guard try add(below: [folder], queryable, fee, countMax, moved) else { return nil }
  }

  /// A file and everything below it, without the files of `moved` below it and what is below those.
  init?(
    of file: FileRecord, _ queryable: some Queryable, fee: Int64, countMax: Int,
    without moved: Set<Identifier>
  ) throws {
    let folders = try add(
      queryable, fee, "id = $1", [.id(file.id)], limit: 1, without: [])
    guard try add(below: folders, queryable, fee, countMax, moved) else { return nil }
  }

  private mutating func add(
    below folders: [Identifier], _ queryable: some Queryable, _ fee: Int64, _ countMax: Int,
    _ moved: Set<Identifier>
  ) throws -> Bool {
    var folders = folders
    while !folders.isEmpty {
      let some = folders.suffix(Self.folderCountMax).map { SQLValue.id($0) }
      folders.removeLast(some.count)
      for list in SQLList.slices(of: some, after: 0) {
        // Each mark has its own index.
        for mark in 0...1 {
          folders += try add(
            queryable, fee,
            "parent_id IN (\(list.parameters)) AND deleted = \(mark) AND id <> parent_id",
            list.values, limit: countMax == .max ? nil : countMax + 1, without: moved)
          guard fileCount <= countMax else { return false }
        }
      }
    }
    return true
  }

  /// Adds the files that match. Returns the folders among them, deleted or not, as the trash may keep what is below.
  private mutating func add(
    _ queryable: some Queryable, _ fee: Int64, _ condition: String, _ values: [SQLValue],
    limit: Int?, without moved: Set<Identifier>
  ) throws -> [Identifier] {
    var (folders, byteCount, fileCount): ([Identifier], Int64, Int) = ([], 0, 0)
    let end = limit.map { "LIMIT \($0)" } ?? ""
    try queryable.query(
      """
      SELECT id, kind, deleted, trash_id, content_bytes,
        (SELECT CAST(coalesce(sum(v.content_bytes), 0) AS BIGINT) FROM sync.versions AS v
          WHERE v.file_id = f.id)
      FROM sync.files AS f WHERE \(condition) \(end)
      """, values
    ) { row in
      let id = try row.id(0)
      fileCount += 1
      guard !moved.contains(id) else { return true }
      if try row.text(1) == FileRecord.Kind.folder.rawValue { folders.append(id) }
      let isCharged = try row.integer(2) == 0 || row.optionalID(3) != nil
      byteCount += try (isCharged ? fee + row.integer(4) : 0) + row.integer(5)
      return true
    }
    self.byteCount += byteCount
    self.fileCount += fileCount
    return folders
  }
}
