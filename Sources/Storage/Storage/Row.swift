package import Base
package import Postgres
package import SQLite

/// One row of an answer, valid only inside the closure that decodes it.
///
/// Columns count from 0. Decoding is strict. A value of another type than requested, or NULL if the form is
/// not optional, throws `DatabaseError.statement`, because the statement does not match its reader.
package struct Row: ~Copyable {
  private let source: Source

  package enum Source {
    case sqlite(SQLiteStatement)
    case postgres(PostgresResult, row: Int)
  }

  package init(_ source: Source) { self.source = source }

  package func integer(_ column: Int) throws(DatabaseError) -> Int64 {
    try present(optionalInteger(column), column)
  }

  package func text(_ column: Int) throws(DatabaseError) -> String {
    try present(optionalText(column), column)
  }

  package func blob(_ column: Int) throws(DatabaseError) -> [UInt8] {
    try present(optionalBlob(column), column)
  }

  package func id(_ column: Int) throws(DatabaseError) -> Identifier {
    try present(optionalID(column), column)
  }

  package func instant(_ column: Int) throws(DatabaseError) -> Instant {
    Instant(milliseconds: try integer(column))
  }

  package func optionalInstant(_ column: Int) throws(DatabaseError) -> Instant? {
    guard let milliseconds = try optionalInteger(column) else { return nil }
    return Instant(milliseconds: milliseconds)
  }

  package func optionalID(_ column: Int) throws(DatabaseError) -> Identifier? {
    guard let bytes = try optionalBlob(column) else { return nil }
    guard let id = Identifier(bytes: bytes) else {
      throw .statement("column \(column) holds \(bytes.count) bytes, not an identifier's 16")
    }
    return id
  }

  package func optionalInteger(_ column: Int) throws(DatabaseError) -> Int64? {
    guard try kind(column, expected: .integer) else { return nil }
    return switch source {
    case .sqlite(let statement): statement.integer(column)
    case .postgres(let result, let row): result.integer(row: row, column: column)
    }
  }

  package func optionalText(_ column: Int) throws(DatabaseError) -> String? {
    guard try kind(column, expected: .text) else { return nil }
    return switch source {
    case .sqlite(let statement): statement.text(column)
    case .postgres(let result, let row): result.text(row: row, column: column)
    }
  }

  package func optionalBlob(_ column: Int) throws(DatabaseError) -> [UInt8]? {
    guard try kind(column, expected: .blob) else { return nil }
    return switch source {
    case .sqlite(let statement): statement.blob(column)
    case .postgres(let result, let row): result.blob(row: row, column: column)
    }
  }

  /// False for NULL; throws unless the value is of the expected type.
  private func kind(
    _ column: Int, expected: SQLiteStatement.ColumnKind
  ) throws(DatabaseError) -> Bool {
    let found: String
    switch source {
    case .sqlite(let statement):
      guard column >= 0, column < statement.columnCount else { throw outOfRange(column) }
      let kind = statement.kind(column)
      if kind == .null { return false }
      if kind == expected { return true }
      found = kind.rawValue
    case .postgres(let result, let row):
      guard column >= 0, column < result.columnCount else { throw outOfRange(column) }
      if result.isNull(row: row, column: column) { return false }
      found = result.kind(column).rawValue
      if found == expected.rawValue { return true }
    }
    throw .statement("column \(column) holds \(found), not \(expected.rawValue)")
  }

  private func outOfRange(_ column: Int) -> DatabaseError {
    .statement("there is no column \(column)")
  }

  private func present<Value>(_ value: Value?, _ column: Int) throws(DatabaseError) -> Value {
    guard let value else { throw .statement("column \(column) holds NULL") }
    return value
  }
}
