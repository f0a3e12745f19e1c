package import Base
package import Storage

/// Compares the rows of documents with the contents that the database keeps itself, while servers continue to run.
package struct InlineAudit {
  private let database: Database

  private static let rowCount = 5000
  private static let first = Identifier(high: 0, low: 0)

  package init(_ database: Database) { self.database = database }

  /// Contents that are missing, or whose length differs from the one in their document's row. `checked` counts those
  /// that should be there, and rows of content that should not.
  ///
  /// Without `sample` every document is checked, else a page of files: from that owner on, and then from the first.
  package func missing(
    sample: Identifier? = nil, each: (_ files: Int64) -> Void
  ) throws -> (checked: Int64, missing: ObjectAudit.Found) {
    var (checked, read, missing) = (Int64(0), Int64(0), ObjectAudit.Found())
    func check(_ files: some Sequence<File>) {
      for file in files {
        read += 1
        guard file.expected > 0 || file.found != nil else { continue }
        checked += 1
        if file.expected != file.found { missing.add("file", file.id, file.expected) }
      }
      each(read)
    }
    var files = try page(behind: sample ?? Self.first, -1, Self.rowCount)
    check(files)
    if let sample {
      let others = try page(behind: Self.first, -1, Self.rowCount - files.count)
      check(others.prefix { $0.owner < sample })
    }
    while sample == nil, files.count == Self.rowCount, let last = files.last {
      files = try page(behind: last.owner, last.number, Self.rowCount)
      check(files)
    }
    return (checked, missing)
  }

  private struct File {
    let owner: Identifier
    let number: Int64
    let id: Identifier
    /// The number of bytes that the database should have of the file's content.
    let expected: Int64
    let found: Int64?
  }

  /// Reads both sides in one snapshot, so that no write comes between.
  private func page(behind owner: Identifier, _ number: Int64, _ limit: Int) throws -> [File] {
    try database.read { reader in
      try reader.rows(
        """
        SELECT f.owner_id, f.seq, f.id, CASE WHEN f.object_id IS NULL THEN f.content_bytes ELSE 0 END,
          CAST(length(c.bytes) AS BIGINT)
        FROM sync.files AS f LEFT JOIN sync.inline_contents AS c ON c.file_id = f.id
        WHERE (f.owner_id, f.seq) > ($1, $2) ORDER BY f.owner_id, f.seq LIMIT $3
        """, .id(owner), .integer(number), .integer(limit)
      ) { row in
        File(
          owner: try row.id(0), number: try row.integer(1), id: try row.id(2),
          expected: try row.integer(3), found: try row.optionalInteger(4))
      }
    }
  }
}
