package import Base
package import Objects
package import Storage

/// Compares rows with the object store, while servers continue to run.
package struct ObjectAudit {
  private let database: Database
  private let objects: ObjectStore

  /// The most ids held in memory at once. More are handled in several rounds.
  private static let heldCountMax: Int64 = 500_000
  /// An object that no row names counts as an upload until it is this old.
  package static let grace = Instant.Span.days(1)
  private static let listedCountMax = 100

  /// The findings of one kind: their number, their size, and the first of them.
  package struct Found: Sendable {
    package private(set) var count: Int64 = 0
    package private(set) var byteCount: Int64 = 0
    package private(set) var first: [Identifier] = []

    mutating func add(_ id: Identifier, _ size: Int64) {
      count += 1
      byteCount += size
      if first.count < ObjectAudit.listedCountMax { first.append(id) }
    }
  }

  package init(_ database: Database, _ objects: ObjectStore) {
    self.database = database
    self.objects = objects
  }

  /// Objects that documents need and that are missing or incomplete; `checked` is the number that
  /// was looked for. Without `sample` the objects of every document are checked, otherwise one page
  /// of them from that owner on.
  package func missing(
    sample: Identifier? = nil, each: (_ checked: Int64) -> Void
  ) throws -> (checked: Int64, missing: Found) {
    var (checked, missing) = (Int64(0), Found())
    let pages = sample.map { ObjectPages(sampleOf: database, from: $0) } ?? ObjectPages(database)
    try pages.read { page, _ in
      for object in page {
        checked += 1
        if try objects.open(object.id)?.byteCount != object.byteCount, try isUsed(object) {
          missing.add(object.id, object.byteCount)
        }
      }
      each(checked)
    }
    return (checked, missing)
  }

  /// Whether the document still has the object. One that was replaced since its page was read may
  /// rightly be gone.
  private func isUsed(_ object: ObjectPages.Object) throws -> Bool {
    try database.read { reader in
      try reader.first(
        "SELECT object_id FROM sync.files WHERE owner_id = $1 AND seq = $2",
        .id(object.owner), .integer(object.number)
      ) { row in try row.optionalID(0) == object.id } ?? false
    }
  }

  /// The number of rows that name an object.
  package func usedCount() throws -> Int64 {
    var count: Int64 = 0
    try ObjectPages(database).read { page, _ in count += Int64(page.count) }
    return count
  }

  /// Objects that no row names and that are older than `grace`. `usedCount` is the number of rows that name
  /// one.
  ///
  /// With `deletes`, objects are deleted, but only while no backup runs. `left` are those that remain.
  package func orphans(
    usedCount: Int64, at now: Instant, deletes: Bool, each: (_ walkedBytes: Int64) -> Void
  ) throws -> (deleted: Found, left: Found) {
    var (deleted, left) = (Found(), Found())
    let rounds = Int(min(256, max(1, (usedCount + Self.heldCountMax - 1) / Self.heldCountMax)))
    for round in 0..<rounds {
      let bytes = (round * 256 / rounds)..<((round + 1) * 256 / rounds)
      var used: Set<Identifier> = []
      try ObjectPages(database).read { page, _ in
        used.formUnion(page.lazy.map(\.id).filter { bytes.contains(Int($0.high >> 56)) })
      }
      for byte in bytes {
        let old = try objects.list(beginningWith: UInt8(byte)).filter { object in
          !used.contains(object.key) && object.written < now - Self.grace
        }
        for object in try unnamed(old) {
          if try deletes && !objects.isHeld() {
            try objects.delete(object.key)
            deleted.add(object.key, object.byteCount)
          } else {
            left.add(object.key, object.byteCount)
          }
        }
        each(Int64(byte) + 1)
      }
    }
    return (deleted, left)
  }

  /// The objects that neither wait for a sweep nor belong to an upload.
  private func unnamed(_ objects: [ObjectStore.Listed]) throws -> [ObjectStore.Listed] {
    var named: Set<Identifier> = []
    for list in SQLList.slices(of: objects.map { .id($0.key) }, after: 0) {
      for table in ["garbage", "reservations"] {
        named.formUnion(
          try database.read { reader in
            try reader.rows(
              "SELECT object_id FROM sync.\(table) WHERE object_id IN (\(list.parameters))",
              values: list.values
            ) { row in try row.id(0) }
          })
      }
    }
    return objects.filter { !named.contains($0.key) }
  }
}
