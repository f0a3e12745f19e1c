import CSQLite

/// An error of SQLite.
///
/// `message` is SQLite's own text: it contains names of tables and columns, never bound values.
package struct SQLiteError: Error, Sendable, CustomStringConvertible {
  /// The extended result code (https://sqlite.org/rescode.html).
  package let code: Int32
  package let message: String

  package init(code: Int32, message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { "SQLite error \(code): \(message)" }

  package var kind: Kind {
    switch code & 0xFF {
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .locked
    case SQLITE_FULL: .full
    case SQLITE_PERM: .forbidden
    case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_NOMEM, SQLITE_AUTH: .outside
    // The bare code means a write to a file attached read-only: a bug. Its extensions are faults.
    case SQLITE_READONLY: code == SQLITE_READONLY ? .misuse : .outside
    case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
    case SQLITE_CONSTRAINT: .constraint
    case SQLITE_INTERRUPT: .interrupted
    default: .misuse
    }
  }

  /// SQLITE_MISUSE, for errors that callers detect before SQLite does.
  package static let misuseCode = SQLITE_MISUSE

  package enum Kind: Sendable {
    /// Another connection held a lock for longer than the busy timeout.
    case locked
    case full
    /// The Unix user may not write the file; `message` is its path.
    case forbidden
    /// The operating system failed: I/O, memory.
    case outside
    case damaged
    case constraint
    case interrupted
    /// A wrong statement, wrong types, a write to a read-only file: a bug.
    case misuse
  }
}
