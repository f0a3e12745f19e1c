package import Storage

/// The result of a walk along one chain.
package struct AuditCheck: Sendable {
  package let schema: Schema
  /// The number of entries that follow one another as they were written, from the first on.
  package private(set) var count: Int64 = 0
  /// The digest of the last of these entries.
  package private(set) var head = AuditEntry.noDigest
  /// The requested digests that the chain holds.
  package private(set) var found: Set<[UInt8]> = []
  /// The fault after these entries, as a sentence; nil if there is none.
  package private(set) var fault: String?

  /// The number of entries before the first that was checked.
  package private(set) var begin: Int64 = 0
  package var checkedCount: Int64 { count - begin }

  /// The number of entries that one snapshot reads, so that none is open for long.
  private static let pageCount = 1000

  /// Walks the chain to its end. `told` receives the count after each page but the last, and the total.
  package init(
    _ schema: Schema, seeking digests: Set<[UInt8]> = [], of database: Database,
    told: (_ count: Int64, _ total: Int64?) -> Void = { _, _ in }
  ) throws {
    self.schema = schema
    while fault == nil {
      // The first page includes entries that were put before the first one.
      let begin = count == 0 ? .min : count
      let (page, end) = try database.read { reader in
        let page = try reader.rows(
          """
          SELECT \(AuditEntry.columns) FROM \(schema).audit WHERE number > $1 ORDER BY number LIMIT $2
          """, .integer(begin), .integer(Self.pageCount)
        ) { row in try AuditEntry(row, of: schema) }
        return (page, try Self.end(of: schema, reader))
      }
      for entry in page where fault == nil { take(entry, seeking: digests) }
      guard page.count < Self.pageCount else {
        told(count, end?.number)
        continue
      }
      if fault == nil { compare(with: end) }
      return
    }
  }

  /// Checks only the latest entries, at most `countMax`, against each other and the head.
  package init(latest countMax: Int, of schema: Schema, reading reader: Reader) throws {
    self.schema = schema
    let page = try reader.rows(
      """
      SELECT \(AuditEntry.columns) FROM \(schema).audit ORDER BY number DESC LIMIT $1
      """, .integer(countMax + 1)
    ) { row in try AuditEntry(row, of: schema) }.reversed()
    if page.count > countMax, let before = page.first {
      (begin, count, head) = (before.name.number, before.name.number, before.digest)
    }
    for entry in page.suffix(countMax) where fault == nil { take(entry, seeking: []) }
    if fault == nil { compare(with: try Self.end(of: schema, reader)) }
  }

  private mutating func take(_ entry: AuditEntry, seeking digests: Set<[UInt8]>) {
    guard entry.name.number == count + 1 else {
      fault =
        entry.name.number <= count
        ? "\(entry.name) was put before the first entry"
        : "\(AuditEntry.Name(schema, count + 1)) is missing"
      return
    }
    guard entry.follows(head) else {
      fault = "\(entry.name) is not what was written there, or what stands before it is not"
      return
    }
    (count, head) = (entry.name.number, entry.digest)
    if digests.contains(head) { found.insert(head) }
  }

  private mutating func compare(with end: (number: Int64, digest: [UInt8])?) {
    guard let end else {
      if count > 0 { fault = "the head of \(schema) is missing" }
      return
    }
    if end.number > count {
      fault = "\(AuditEntry.Name(schema, count + 1)) is missing"
    } else if end.number < count || end.digest != head {
      fault = "the head of \(schema) is not its last entry"
    }
  }

  private static func end(
    of schema: Schema, _ reader: Reader
  ) throws -> (number: Int64, digest: [UInt8])? {
    try reader.first("SELECT number, digest FROM \(schema).audit_head WHERE id = 1") { row in
      (try row.integer(0), try row.blob(1))
    }
  }
}
