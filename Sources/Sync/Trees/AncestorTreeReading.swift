import Accounts
import Base
import Requests
import Storage

extension AncestorTree {
  /// Levels that are read at first. Usually one of them is already known.
  private static let levelCountFirst = 4
  /// Files at which one statement begins, each with its levels.
  private static let startCountMax = 16

  mutating func load(_ id: Identifier, _ queryable: some Queryable) throws {
    try load([id], queryable)
  }

  /// Reads files and what is above them, unless it is known: few levels first, then more, within the budget.
  mutating func load(
    _ ids: [Identifier], _ queryable: some Queryable, within budget: WorkBudget? = nil
  ) throws {
    var starts = Set(ids.compactMap(unknown(above:)))
    var (levelCount, loadedCount) = (Self.levelCountFirst, 0)
    while !starts.isEmpty, loadedCount <= Self.depthMax {
      let ids = starts.map { SQLValue.id($0) }
      for list in SQLList.slices(of: ids, count: Self.startCountMax, after: 2) {
        try load(list, levels: levelCount, queryable)
        try budget?.check()
      }
      // Ids that are no files have no rows.
      starts = Set(starts.filter { self[$0] != nil }.compactMap(unknown(above:)))
      loadedCount += levelCount
      levelCount *= 4
    }
  }

  /// The file, or the first unknown one above it; nil if all are known up to the root.
  private func unknown(above id: Identifier) -> Identifier? {
    guard let top = chain(id).last else { return id }
    return top.isRoot || self[top.parent] != nil ? nil : top.parent
  }

  /// Mode and state of the account's own share of the file `f`, and an id if anyone has a live share. Each is a
  /// subquery of one row, which PostgreSQL answers by an index for every file. For a join or an EXISTS it would read
  /// all shares, as it expects more files than there are.
  static let shareColumns = """
    (SELECT s.mode FROM sync.shares AS s WHERE s.file_id = f.id AND s.account_id = $1),
    (SELECT s.state FROM sync.shares AS s WHERE s.file_id = f.id AND s.account_id = $1),
    (SELECT s.file_id FROM sync.shares AS s
      WHERE s.file_id = f.id AND s.state IN ('pending', 'accepted') LIMIT 1)
    """

  private mutating func load(
    _ list: SQLList, levels: Int, _ queryable: some Queryable
  ) throws {
    // The chains of several files meet, that of one file never. Then SQLite keeps no table of the rows that it had.
    let union = list.values.count == 1 ? "UNION ALL" : "UNION"
    try queryable.query(
      """
      WITH RECURSIVE chain
        (id, owner_id, parent_id, kind, target_id, name_hmac, deleted, deleted_with, height, level)
      AS (
        SELECT id, owner_id, parent_id, kind, target_id, name_hmac, deleted, deleted_with, height,
          0
        FROM sync.files WHERE id IN (\(list.parameters))
        \(union)
        SELECT f.id, f.owner_id, f.parent_id, f.kind, f.target_id, f.name_hmac, f.deleted,
          f.deleted_with, f.height, c.level + 1
        FROM chain AS c JOIN sync.files AS f ON f.id = c.parent_id
        WHERE c.parent_id <> c.id AND c.level < $2)
      SELECT id, owner_id, parent_id, kind, target_id, name_hmac, deleted, deleted_with, height,
        \(Self.shareColumns)
      FROM chain AS f
      """,
      [.id(account), .integer(Int64(levels - 1))] + list.values
    ) { row in
      insert(try Node(row: row))
      return true
    }
  }

  /// The file, if it exists and the account may see it.
  mutating func file(_ id: Identifier, _ queryable: some Queryable) throws -> FileRecord {
    try load(id, queryable)
    // Another account's file answers like a missing one, so that ids cannot be probed.
    guard role(id) > .stranger, let file = try FileRecord.find(queryable, id) else {
      throw Refusal.fileNotFound
    }
    return marked(file)
  }
}

extension AncestorTree.Node {
  fileprivate init(row: borrowing Row) throws {
    guard let kind = FileRecord.Kind(rawValue: try row.text(3)) else {
      throw DatabaseError.statement("a file is of no known type")
    }
    self.init(
      id: try row.id(0), owner: try row.id(1), parent: try row.id(2), kind: kind,
      target: try row.optionalID(4), hmac: try row.optionalBlob(5),
      isDeleted: try row.integer(6) == 1, deletedWith: try row.optionalID(7),
      height: try row.integer(8), share: try row.share(9),
      hasLiveShares: try row.optionalID(11) != nil)
  }

  /// A file that was read whole, with values that its row does not hold.
  init(_ record: FileRecord, row: borrowing Row, from column: Int) throws {
    self.init(
      id: record.id, owner: record.owner, parent: record.parent, kind: record.kind,
      target: record.target, hmac: record.name?.hmac, isDeleted: record.isDeleted,
      deletedWith: record.deletedWith, height: try row.integer(column),
      share: try row.share(column + 1), hasLiveShares: try row.optionalID(column + 3) != nil)
  }
}

extension Row {
  /// A share's mode and state in two columns; NULL if there is none.
  fileprivate func share(
    _ column: Int
  ) throws(DatabaseError) -> (mode: Share.Mode, state: Share.State)? {
    guard let mode = try optionalText(column).flatMap(Share.Mode.init(rawValue:)),
      let state = try optionalText(column + 1).flatMap(Share.State.init(rawValue:))
    else { return nil }
    return (mode, state)
  }
}
