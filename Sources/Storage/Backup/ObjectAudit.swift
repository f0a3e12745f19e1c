package import Base
package import Objects
package import Storage

/// Looks for the objects that rows name, while servers continue to run.
package struct ObjectAudit {
  private let database: Database
  private let objects: any ObjectStore

  private static let listedCountMax = 100

  /// The findings of one kind: their number, their size, and the first of them.
  package struct Found: Sendable {
    package private(set) var count: Int64 = 0
    package private(set) var byteCount: Int64 = 0
    package private(set) var first: [Item] = []

    package struct Item: Sendable {
      /// What has the content, e.g. `snapshot`.
      package let kind: String
      package let id: Identifier
    }

    mutating func add(_ kind: String, _ id: Identifier, _ size: Int64) {
      count += 1
      byteCount += size
      if first.count < ObjectAudit.listedCountMax { first.append(Item(kind: kind, id: id)) }
    }
  }

  package init(_ database: Database, _ objects: any ObjectStore) {
    self.database = database
    self.objects = objects
  }

  /// Objects that rows need and that are missing or incomplete; `checked` is the number that was looked for. Without
  /// `sample` every document's, otherwise one page of them from that owner on.
  package func missing(
    sample: Identifier? = nil, each: (_ checked: Int64) -> Void
  ) throws -> (checked: Int64, missing: Found) {
    var (checked, missing) = (Int64(0), Found())
    try ObjectPages(database: database, sample: sample).read { page, _ in
      for object in page {
        checked += 1
        if try objects.open(object.id)?.byteCount != object.byteCount, try isUsed(object) {
          missing.add(object.kind, object.id, object.byteCount)
        }
      }
      each(checked)
    }
    return (checked, missing)
  }

  /// Whether a row still has the object. One that was dropped since its page was read may rightly be gone.
  private func isUsed(_ object: ObjectPages.Object) throws -> Bool {
    try database.read { reader in
      try reader.first(
        """
        SELECT 1 FROM sync.files WHERE owner_id = $1 AND seq = $2 AND object_id = $3 UNION ALL
        SELECT 1 FROM sync.versions WHERE owner_id = $1 AND seq = $2 AND object_id = $3 UNION ALL
        SELECT 1 FROM sync.log_snapshots WHERE owner_id = $1 AND seq = $2 AND object_id = $3
        UNION ALL
        SELECT 1 FROM sync.public_links WHERE owner_id = $1 AND seq = $2 AND object_id = $3
          UNION ALL
        SELECT 1 FROM sync.document_blobs WHERE owner_id = $1 AND seq = $2 AND object_id = $3
        """, .id(object.owner), .integer(object.number), .id(object.id)
      ) { _ in true } ?? false
    }
  }
}
