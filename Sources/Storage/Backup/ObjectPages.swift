import Base
import Storage

/// The objects that rows need, read page by page in short snapshots.
///
/// While nothing is deleted from the store, the pages with garbage contain every object that was in use at the
/// beginning: one that is replaced gets a higher number, or is in `garbage`.
struct ObjectPages {
  struct Object {
    let id: Identifier
    let byteCount: Int64
    /// Whether a row needs the object. Garbage may never have been written.
    let isInUse: Bool
    /// What has it: a file, a version, a snapshot, a link or a blob. Not set for garbage.
    var kind = ""
    /// The owner and number of the document, version, snapshot or link, which find its row again. Not set for garbage.
    var owner = Identifier(high: 0, low: 0)
    var number: Int64 = 0
  }

  let database: Database
  var includesGarbage = false
  /// One page of objects: from that owner on, and after the last owner from the first. Nil: all objects.
  var sample: Identifier?

  private static let rowCount: Int64 = 5000
  private static let first = Identifier(high: 0, low: 0)

  /// `each` gets the objects of a page, and the size of the contents outside the object store.
  func read(_ each: (_ objects: [Object], _ inlineByteCount: Int64) throws -> Void) throws {
    var left = sample == nil ? .max : Self.rowCount
    try read(from: sample ?? Self.first, before: nil, &left, each)
    if let sample { try read(from: Self.first, before: sample, &left, each) }
    if includesGarbage { try readGarbage(each) }
  }

  /// Reads the objects of the owners from `first` to before `end`, from at most `left` rows.
  private func read(
    from first: Identifier, before end: Identifier?, _ left: inout Int64,
    _ each: (_ objects: [Object], _ inlineByteCount: Int64) throws -> Void
  ) throws {
    var (owner, number): (Identifier, Int64) = (first, -1)
    var isLast = false
    while !isLast, left > 0 {
      let limit = min(Self.rowCount, left)
      let page = try page(behind: (owner, number), limit: limit)
      let rows = page.prefix { row in end.map { row.owner < $0 } ?? true }
      let objects = rows.compactMap { row in
        row.object.map {
          Object(
            id: $0, byteCount: row.byteCount, isInUse: true, kind: row.kind, owner: row.owner,
            number: row.number)
        }
      }
      let inlineByteCount = rows.reduce(Int64(0)) { $0 + ($1.object == nil ? $1.byteCount : 0) }
      if let last = rows.last { (owner, number) = (last.owner, last.number) }
      isLast = rows.count < page.count || page.count < limit
      left -= Int64(rows.count)
      try each(objects, inlineByteCount)
    }
  }

  /// A row with a content, of a document, a version, a snapshot or a link.
  private struct ContentRow {
    let kind: String
    let owner: Identifier
    let number: Int64
    let object: Identifier?
    let byteCount: Int64
  }

  private static let tables = [
    ("files", "file"), ("versions", "version"), ("log_snapshots", "snapshot"),
    ("public_links", "link"), ("document_blobs", "blob"),
  ]

  /// The next rows in the order of owners and numbers. A replaced content and its successor are in one page.
  private func page(
    behind place: (owner: Identifier, number: Int64), limit: Int64
  ) throws -> [ContentRow] {
    let rows = try database.read { reader in
      try Self.tables.map { table, kind in
        try reader.rows(
          """
          SELECT owner_id, seq, object_id, content_bytes FROM sync.\(table)
          WHERE (owner_id, seq) > ($1, $2) ORDER BY owner_id, seq LIMIT $3
          """, .id(place.owner), .integer(place.number), .integer(limit)
        ) { row in
          ContentRow(
            kind: kind, owner: try row.id(0), number: try row.integer(1),
            object: try row.optionalID(2), byteCount: try row.integer(3))
        }
      }
    }
    // A table whose page is full may have more rows behind it, so the page ends there at the latest.
    let ends = rows.filter { $0.count == limit }.compactMap(\.last).map { ($0.owner, $0.number) }
    let end = ends.min { $0 < $1 }
    return rows.flatMap { $0 }.filter { row in end.map { (row.owner, row.number) <= $0 } ?? true }
      .sorted { ($0.owner, $0.number) < ($1.owner, $1.number) }
  }

  private func readGarbage(
    _ each: (_ objects: [Object], _ inlineByteCount: Int64) throws -> Void
  ) throws {
    var last = Identifier(high: 0, low: 0)
    while true {
      let after = last
      let page = try database.read { reader in
        try reader.rows(
          """
          SELECT object_id, bytes FROM sync.garbage WHERE object_id > $1
          ORDER BY object_id LIMIT $2
          """, .id(after), .integer(Self.rowCount)
        ) { row in
          Object(id: try row.id(0), byteCount: try row.integer(1), isInUse: false)
        }
      }
      try each(page, 0)
      guard page.count == Self.rowCount, let end = page.last else { return }
      last = end.id
    }
  }
}
