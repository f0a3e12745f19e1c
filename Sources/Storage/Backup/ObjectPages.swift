internal import Base
internal import Storage

/// The objects that documents need, as rows name them, read page by page in short snapshots.
///
/// While nothing is deleted from the object store, the pages with `garbage` contain every object that was in
/// use at the beginning: a document that changes its object leaves the old one in `garbage`.
struct ObjectPages {
  struct Object {
    let id: Identifier
    let byteCount: Int64
    /// Whether a document needs the object. Garbage may never have been written.
    let isInUse: Bool
    /// The owner and number of the document, which find its row again. Not set for garbage.
    var owner = Identifier(high: 0, low: 0)
    var number: Int64 = 0
  }

  private let database: Database
  private let includesGarbage: Bool
  private let start: Identifier
  private let rowCountMax: Int64
  private static let rowCount: Int64 = 5000
  private static let first = Identifier(high: 0, low: 0)

  init(_ database: Database, includesGarbage: Bool = false) {
    self.database = database
    self.includesGarbage = includesGarbage
    start = Self.first
    rowCountMax = .max
  }

  /// One page of objects: from that owner on, and after the last owner from the first.
  init(sampleOf database: Database, from start: Identifier) {
    self.database = database
    includesGarbage = false
    self.start = start
    rowCountMax = Self.rowCount
  }

  /// `each` gets the objects of a page, and the size of the contents outside the object store.
  func read(_ each: (_ objects: [Object], _ inlineByteCount: Int64) throws -> Void) throws {
    var left = rowCountMax
    try read(from: start, before: nil, &left, each)
    if start > Self.first { try read(from: Self.first, before: start, &left, each) }
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
      var (objects, inlineByteCount, count) = ([Object](), Int64(0), Int64(0))
      var isPast = false
      let (afterOwner, afterNumber) = (owner, number)
      try database.read { reader in
        try reader.query(
          """
          SELECT owner_id, seq, object_id, content_bytes FROM sync.files
          WHERE (owner_id, seq) > ($1, $2) ORDER BY owner_id, seq LIMIT $3
          """, [.id(afterOwner), .integer(afterNumber), .integer(limit)]
        ) { row in
          let next = try row.id(0)
          isPast = end.map { next >= $0 } ?? false
          if isPast { return false }
          (owner, number, count) = (next, try row.integer(1), count + 1)
          let byteCount = try row.integer(3)
          if let id = try row.optionalID(2) {
            objects.append(
              Object(id: id, byteCount: byteCount, isInUse: true, owner: owner, number: number))
          } else {
            inlineByteCount += byteCount
          }
          return true
        }
      }
      isLast = isPast || count < limit
      left -= count
      try each(objects, inlineByteCount)
    }
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
