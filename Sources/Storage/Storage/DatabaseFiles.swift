import Glibc
import SQLite

/// The SQLite files for an operator: their sizes, whether they are whole, and who may read them.
package struct DatabaseFiles: Sendable {
  private let files: SQLiteFiles
  private let options: DatabaseOptions

  package init(directory: String, options: DatabaseOptions = .init()) {
    files = SQLiteFiles(directory: directory)
    self.options = options
  }

  /// The paths of both files and their logs, as far as they exist.
  package var paths: [String] {
    Schema.allCases.flatMap { schema in
      ["", "-wal", "-shm"].map { files.path(of: schema) + $0 }
    }.filter { unsafe access($0, F_OK) == 0 }
  }

  /// The size of a schema's write-ahead log in bytes.
  package func logByteCount(of schema: Schema) -> Int64 {
    var status = stat()
    guard unsafe stat(files.path(of: schema) + "-wal", &status) == 0 else { return 0 }
    return Int64(status.st_size)
  }

  /// The first ten faults that SQLite finds in a file; empty if it is whole. Takes as long as reading the whole file.
  package func faults(of schema: Schema) throws -> [String] {
    do {
      let connection = try files.connect(.reader(nil), lockWait: options.lockWait)
      return try connection.withStatement("PRAGMA \(schema).integrity_check(10)") { statement in
        var lines: [String] = []
        while try statement.step() { lines.append(statement.text(0)) }
        return lines == ["ok"] ? [] : lines
      }
    } catch let error as SQLiteError {
      if error.kind == .damaged { return [error.message] }
      throw error.databaseError
    }
  }
}
