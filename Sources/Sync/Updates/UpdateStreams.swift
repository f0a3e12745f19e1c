import Accounts
import Base
import Storage

/// An account's own sequence: its files, and its shares in others' trees.
struct OwnStream {
  let account: Identifier
  let last: Int64

  /// The most shares in one page: as many as one file can have, so that every page makes progress.
  private static let shareCountMax = BatchRules.shareRowCountMax

  /// The next changes. `read` moves to the last of them, or to the end.
  func read(_ reader: Reader, after read: inout Int64, limit: Int) throws -> [Change] {
    guard read < last, limit > 0 else { return [] }
    let files = try FileRecord.changed(reader, of: account, after: read, limit: Int64(limit))
    let invitations = try Share.changed(reader, of: account, after: read, limit: Int64(limit))
    let (shares, end) = try sharesOfFiles(
      reader, after: read, through: files.last?.sequence ?? read)
    var changes: [(sequence: Int64, change: Change)] = files.map { file in
      (file.sequence, .file(file, shares[file.id] ?? []))
    }
    for share in invitations {
      // An accepted share brings its tree into view; a pending one shows just the file itself.
      let record = share.state == .pending ? try FileRecord.find(reader, share.file) : nil
      changes.append((share.sequence, .share(share, record)))
    }
    changes.sort { $0.sequence < $1.sequence }
    // Anything not included has a higher number than all of these.
    if let end { changes = changes.filter { $0.sequence < end } }
    changes = Array(changes.prefix(limit))
    let isAll = end == nil && changes.count < limit
    read = isAll ? last : changes.last?.sequence ?? last
    return changes.map(\.change)
  }

  /// The shares of the files between two numbers, and the number of the first file with too many for the page.
  private func sharesOfFiles(
    _ reader: Reader, after read: Int64, through end: Int64
  ) throws -> ([Identifier: [Share]], end: Int64?) {
    let hasShared = try reader.hasRow(
      "SELECT 1 FROM sync.shares WHERE owner_id = $1 LIMIT 1", .id(account))
    guard hasShared else { return ([:], nil) }
    let shares = try reader.rows(
      """
      SELECT \(Share.joinedColumns), f.seq FROM sync.files AS f
      JOIN sync.shares AS s ON s.file_id = f.id
      WHERE f.owner_id = $1 AND f.seq > $2 AND f.seq <= $3 ORDER BY f.seq, s.account_id LIMIT $4
      """, .id(account), .integer(read), .integer(end), .integer(Int64(Self.shareCountMax) + 1)
    ) { row in (share: try Share(row: row), fileSequence: try row.integer(10)) }
    let isFull = shares.count > Self.shareCountMax
    return (
      Dictionary(grouping: shares.map(\.share), by: \.file),
      isFull ? shares.last?.fileSequence : nil
    )
  }
}

/// An account's view of an owner's tree: the visible part of the owner's sequence, plus departures.
struct View {
  let account: Identifier
  let owner: Identifier
  let number: Int64
  /// Before this number nothing is in view, or everything in view has a later one.
  let from: Int64
  let last: Int64
  /// The owner's deletion. Until then everything can be read and copied.
  let leaving: LeavingOwner?

  static func all(of account: Identifier, _ reader: Reader) throws -> [View] {
    try reader.rows(
      """
      SELECT v.owner_id, v.number, v.from_seq, a.seq, d.asked_ms, d.erase_ms
      FROM sync.views AS v JOIN sync.accounts AS a ON a.id = v.owner_id
      LEFT JOIN sync.account_deletions AS d ON d.account_id = v.owner_id
      WHERE v.account_id = $1 ORDER BY v.owner_id
      """, .id(account)
    ) { row in
      let (owner, asked) = (try row.id(0), try row.optionalInstant(4))
      let erases = try row.optionalInstant(5)
      return View(
        account: account, owner: owner, number: try row.integer(1), from: try row.integer(2),
        last: try row.integer(3),
        leaving: asked.map { _ in LeavingOwner(owner, erases: erases) })
    }
  }

  /// Rows read at a time. Most of them may be invisible to the account.
  private static let itemCountMax = 200

  /// The next changes in view. `read` moves past everything that was examined.
  func read(
    _ reader: Reader, after read: inout Int64, limit: Int, examinable: inout Int,
    _ tree: inout AncestorTree
  ) throws -> [Change] {
    var changes: [Change] = []
    while read < last, changes.count < limit, examinable > 0 {
      let count = min(Self.itemCountMax, examinable)
      let items = try items(reader, after: read, count: count)
      for item in items where changes.count < limit {
        if let change = try visible(item, reader, &tree) { changes.append(change) }
        examinable -= 1
        read = item.sequence
      }
      if items.count < count, items.last.map({ $0.sequence == read }) ?? true { read = last }
    }
    return changes
  }

  private enum Item {
    case file(FileRecord)
    case left(Identifier, sequence: Int64)

    var sequence: Int64 {
      switch self {
      case .file(let record): record.sequence
      case .left(_, let sequence): sequence
      }
    }
  }

  private func items(_ reader: Reader, after read: Int64, count: Int) throws -> [Item] {
    let files = try FileRecord.changed(reader, of: owner, after: read, limit: Int64(count))
    let left = try reader.rows(
      """
      SELECT file_id, seq FROM sync.departures
      WHERE account_id = $1 AND owner_id = $2 AND seq > $3 ORDER BY seq LIMIT $4
      """, .id(account), .id(owner), .integer(read), .integer(Int64(count))
    ) { row in Item.left(try row.id(0), sequence: try row.integer(1)) }
    let items = files.map { Item.file($0) } + left
    return Array(items.sorted { $0.sequence < $1.sequence }.prefix(count))
  }

  private func visible(
    _ item: Item, _ reader: Reader, _ tree: inout AncestorTree
  ) throws -> Change? {
    switch item {
    case .left(let file, _):
      try tree.load(file, reader)
      guard tree.role(file) > .stranger else { return .left(file, owner: owner) }
      // A departed file that is still offered, visible through another share, or back in view is
      // sent there. A deleted file gets no number when it comes back, and its deletion may have
      // been read past while it was out of view.
      guard tree.isDeleted(file), let record = try FileRecord.find(reader, file) else {
        return nil
      }
      return try change(of: record, reader, tree)
    case .file(let record):
      try tree.load(record.id, reader)
      guard tree.role(record.id) > .stranger else { return nil }
      return try change(of: record, reader, tree)
    }
  }

  private func change(
    of record: FileRecord, _ reader: Reader, _ tree: AncestorTree
  ) throws -> Change {
    let hasShare = tree[record.id]?.share != nil
    let share = hasShare ? try Share.find(reader, record.id, account) : nil
    return .file(tree.marked(record), share.map { [$0] } ?? [])
  }
}
