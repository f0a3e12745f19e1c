package import Base
package import Objects
package import Storage

/// Finds objects in the store that no row names, and deletes them, while servers continue to run. A crash between two
/// steps leaves such objects. A row is committed before its object's first byte. So the store is listed before the
/// rows are read: an object without a row then gets none again.
package struct OrphanAudit {
  /// Younger objects stay: an import writes them before their rows, and a replica may have lost the last rows.
  package static let grace = Instant.Span.days(1)

  private let database: Database
  private let objects: any ObjectStore

  /// What was found: the number of objects and their size.
  package struct Found: Sendable {
    package private(set) var count: Int64 = 0
    package private(set) var byteCount: Int64 = 0

    package init() {}

    fileprivate mutating func add(_ object: ListedObject) {
      count += 1
      byteCount = byteCount.addingClamped(object.byteCount)
    }

    package static func += (sum: inout Found, more: Found) {
      sum.count += more.count
      sum.byteCount = sum.byteCount.addingClamped(more.byteCount)
    }
  }

  package init(_ database: Database, _ objects: any ObjectStore) {
    self.database = database
    self.objects = objects
  }

  /// Looks at the objects whose keys begin with `byte`, and with `deletes` deletes the orphans unless a backup runs.
  /// `left` are those that remain. `fail` gets those that the store does not delete.
  package func orphans(
    beginningWith byte: UInt8, at now: Instant, deletes: Bool,
    fail: (Identifier, ObjectStoreError) throws -> Void = { _, error in throw error }
  ) throws -> (deleted: Found, left: Found) {
    var (deleted, left) = (Found(), Found())
    let old = try objects.list(beginningWith: byte).filter { $0.written < now - Self.grace }
    let named = try ObjectRows(database: database).named(old.map(\.key))
    let orphans = old.filter { !named.contains($0.key) }
    // Once, and after they were found: a hold that is taken later needs none of them.
    let deletes = try deletes && !orphans.isEmpty && !objects.isHeld()
    for object in orphans {
      guard deletes else {
        left.add(object)
        continue
      }
      do throws(ObjectStoreError) {
        try objects.delete(object.key)
        deleted.add(object)
      } catch {
        try fail(object.key, error)
        left.add(object)
      }
    }
    return (deleted, left)
  }

  /// The uploads that began, or were last written to, before `moment` and that no reservation protects.
  package func leftovers(before moment: Instant) throws -> [Identifier] {
    let old = try objects.leftovers(before: moment)
    let live = try database.read { reader in
      try reader.rows(in: old.map { .id($0) }) { list in
        "SELECT object_id FROM sync.reservations WHERE object_id IN (\(list))"
      } row: { row in
        try row.id(0)
      }
    }
    let kept = Set(live)
    return old.filter { !kept.contains($0) }
  }
}
