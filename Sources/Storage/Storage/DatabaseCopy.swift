import Glibc
import SQLite

/// A copy of both SQLite files as of one moment, taken while programs continue to use them.
///
/// No one waits for it. While it lasts the log cannot be started over, so it grows by everything that is written.
package enum DatabaseCopy {
  /// Writes `sync.db` and `billing.db` into a directory that has neither; `each` gets bytes.
  ///
  /// The copy is not durable yet when this returns.
  ///
  /// - Throws: `DatabaseError.unavailable` if the target is full.
  package static func take(
    of directory: String, into target: String,
    options: DatabaseOptions = .init(), each: (_ done: Int64, _ of: Int64) -> Void
  ) throws {
    let (files, copies) = (SQLiteFiles(directory: directory), SQLiteFiles(directory: target))
    try copies.create()
    let snapshots = SQLiteSnapshots(
      files: files, owned: .sync, foreign: .billing, options: options)
    do {
      let connection = try snapshots.connect()
      try snapshots.begin(on: connection)
      defer { connection.reader.readDeadline = nil }
      var copied: Int64 = 0
      let sizes = try Schema.allCases.map { schema in
        try connection.reader.integer("PRAGMA \(schema).page_count")
          * connection.reader.integer("PRAGMA \(schema).page_size")
      }
      let total = sizes.reduce(0, +)
      for (schema, size) in zip(Schema.allCases, sizes) {
        try connection.reader.copy(schema.rawValue, to: copies.path(of: schema)) { done, pages in
          each(copied + size * Int64(done) / Int64(max(1, pages)), total)
        }
        copied += size
      }
      try snapshots.rollBack(on: connection)
    } catch let error as SQLiteError {
      throw error.databaseError
    }
  }
}
