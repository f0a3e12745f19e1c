internal import Base
internal import Glibc
internal import SQLite

/// The SQLite files as an operator looks at them: their sizes, whether they are whole, who may read them.
package struct DatabaseFiles: Sendable {
  private let files: SQLiteFiles
  private let options: DatabaseOptions

  package init(directory: String, options: DatabaseOptions = .init()) {
    files = SQLiteFiles(directory: directory)
    self.options = options
  }

  /// Of both files, those that there are, with their logs.
  package var paths: [String] {
    Schema.allCases.flatMap { schema in
      ["", "-wal", "-shm"].map { files.path(of: schema) + $0 }
    }.filter { unsafe access($0, F_OK) == 0 }
  }

  /// Bytes in the write-ahead log of a schema.
  package func logByteCount(of schema: Schema) -> Int64 {
    var status = stat()
    guard unsafe stat(files.path(of: schema) + "-wal", &status) == 0 else { return 0 }
    return Int64(status.st_size)
  }

  /// What SQLite finds wrong with a file, the first ten of it; nothing where it is whole. Takes as long
  /// as reading all of it.
  package func faults(of schema: Schema) throws -> [String] {
    do {
      let connection = try files.connect(.reader, lockWait: options.lockWait)
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
