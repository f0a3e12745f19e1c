package import Base
package import Storage

/// Who has versions of a document, asked by its id alone.
package enum DocumentHolders {
  private static let foundCountMax: Int64 = 20

  /// The accounts that hold versions of a document, at most 20 with current and 20 with replaced ones. Versions are
  /// shared, and clients choose the ids, so there may be several.
  package static func accounts(
    _ queryable: some Queryable, of document: Identifier
  ) throws -> [Identifier] {
    try ["IS NULL", "IS NOT NULL"].flatMap { condition in
      try queryable.rows(
        """
        SELECT DISTINCT account_id FROM sync.document_versions
        WHERE document_id = $1 AND replaced_ms \(condition) ORDER BY account_id LIMIT $2
        """, .id(document), .integer(foundCountMax)
      ) { row in try row.id(0) }
    }
  }
}
