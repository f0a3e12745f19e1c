import Base
import Objects
import Storage

struct ObjectRows {
  let database: Database

  /// The objects that documents, versions, snapshots, links, blobs and uploads need, with their lengths; nil for an
  /// upload's.
  func needed(_ keys: [Identifier]) throws -> [Identifier: Int64?] {
    var needed: [Identifier: Int64?] = [:]
    for list in SQLList.slices(of: keys.map { .id($0) }, after: 0) {
      // One snapshot, because a commit moves a key from one table to another.
      let rows = try database.read { reader in
        try reader.rows(
          """
          SELECT object_id, content_bytes FROM sync.files
            WHERE object_id IN (\(list.parameters)) UNION ALL
          SELECT object_id, content_bytes FROM sync.versions
            WHERE object_id IN (\(list.parameters)) UNION ALL
          SELECT object_id, content_bytes FROM sync.log_snapshots
            WHERE object_id IN (\(list.parameters)) UNION ALL
          SELECT object_id, content_bytes FROM sync.public_links
            WHERE object_id IN (\(list.parameters)) UNION ALL
          SELECT object_id, content_bytes FROM sync.document_blobs
            WHERE object_id IN (\(list.parameters)) UNION ALL
          SELECT object_id, NULL FROM sync.reservations
            WHERE object_id IN (\(list.parameters))
          """, values: list.values
        ) { row in (try row.id(0), try row.optionalInteger(1)) }
      }
      for (key, byteCount) in rows { needed[key] = .some(byteCount) }
    }
    return needed
  }

  /// Those that are garbage are named, too, until they are deleted.
  func named(_ keys: [Identifier]) throws -> Set<Identifier> {
    var named = Set(try needed(keys).keys)
    // After the others: a key comes to this table from them, and never returns.
    for list in SQLList.slices(of: keys.map { .id($0) }, after: 0) {
      let garbage = try database.read { reader in
        try reader.rows(
          "SELECT object_id FROM sync.garbage WHERE object_id IN (\(list.parameters))",
          values: list.values
        ) { row in try row.id(0) }
      }
      named.formUnion(garbage)
    }
    return named
  }
}
