import CSQLite
import Glibc

/// One prepared statement of one connection, positioned on a row while it is stepped.
///
/// Not Sendable: it belongs to the holder of its connection.
@safe
package final class SQLiteStatement {
  /// For each of SQLite's parameter positions, the `n` of its `$n`.
  ///
  /// SQLite numbers `$n` by first appearance, so position and `n` differ in `$2 … $1`.
  package let parameters: [Int]
  /// The number of values that the statement takes: the largest `n`.
  package let parameterCount: Int
  package let isReadOnly: Bool
  /// Whether it is `UPDATE t SET c = c WHERE …`, which leaves rows as they are, and locks them on PostgreSQL.
  package let isLock: Bool
  /// Whether the statement is in use. The connection's cache then lends it to no other caller.
  var isTaken = false

  private let handle: OpaquePointer
  private let connection: OpaquePointer

  /// Takes over `handle`; refuses parameters other than `$1`, `$2`, … without a gap.
  init(
    owning handle: OpaquePointer, of connection: OpaquePointer, text: String
  ) throws(SQLiteError) {
    var numbers: [Int] = []
    for position in 0..<(unsafe sqlite3_bind_parameter_count(handle)) {
      let name = unsafe sqlite3_bind_parameter_name(handle, position + 1).map {
        unsafe String(cString: $0)
      }
      // `$1::text` arrives here as one parameter of that name. If it were accepted, it would be NULL.
      guard let name, name.hasPrefix("$"), let number = Int(name.dropFirst()), number > 0 else {
        unsafe sqlite3_finalize(handle)
        throw SQLiteError(
          code: SQLITE_MISUSE, message: "parameter \(name ?? "?") is not of the form $1")
      }
      numbers.append(number)
    }
    guard Set(numbers).count == numbers.max() ?? 0 else {
      unsafe sqlite3_finalize(handle)
      throw SQLiteError(code: SQLITE_MISUSE, message: "parameters $1 … have a gap")
    }
    parameters = numbers
    parameterCount = numbers.max() ?? 0
    isReadOnly = unsafe sqlite3_stmt_readonly(handle) != 0
    let words = text.split(maxSplits: 7, whereSeparator: \.isWhitespace)
    isLock =
      words.count == 8 && words[0] == "UPDATE" && words[2] == "SET" && words[3] == words[5]
      && words[4] == "=" && words[6] == "WHERE"
    unsafe self.connection = unsafe connection
    unsafe self.handle = unsafe handle
  }

  deinit { unsafe sqlite3_finalize(handle) }

  /// Binds at a position counted from 0, as in `parameters`.
  package func bindNull(at position: Int) throws(SQLiteError) {
    try check(unsafe sqlite3_bind_null(handle, Int32(position) + 1))
  }

  package func bind(_ integer: Int64, at position: Int) throws(SQLiteError) {
    try check(unsafe sqlite3_bind_int64(handle, Int32(position) + 1, integer))
  }

  /// Refuses U+0000: SQLite would keep it, and half of its functions would stop there.
  package func bind(_ text: String, at position: Int) throws(SQLiteError) {
    var text = text
    let code = text.withUTF8 { bytes -> Int32 in
      return unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        // A null pointer would bind NULL; the empty string has a pointer.
        guard let start = characters.baseAddress else {
          return unsafe coffer_bind_text(handle, Int32(position) + 1, "", 0)
        }
        if unsafe memchr(start, 0, characters.count) != nil { return SQLITE_MISMATCH }
        return unsafe coffer_bind_text(handle, Int32(position) + 1, start, UInt64(characters.count))
      }
    }
    guard code != SQLITE_MISMATCH else {
      throw SQLiteError(code: SQLITE_MISMATCH, message: "text holds U+0000")
    }
    try check(code)
  }

  package func bind(_ blob: [UInt8], at position: Int) throws(SQLiteError) {
    let code = unsafe blob.withUnsafeBytes { bytes -> Int32 in
      // A null pointer would bind NULL instead of the empty blob.
      guard let start = bytes.baseAddress, !blob.isEmpty else {
        return unsafe sqlite3_bind_zeroblob(handle, Int32(position) + 1, 0)
      }
      return unsafe coffer_bind_blob(handle, Int32(position) + 1, start, UInt64(bytes.count))
    }
    try check(code)
  }

  /// Moves to the next row. Returns false if there is none.
  package func step() throws(SQLiteError) -> Bool {
    switch unsafe sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw unsafe SQLiteConnection.error(of: connection)
    }
  }

  /// The steps of the virtual machine for this statement since the last call.
  package func takeStepCount() -> Int64 {
    Int64(unsafe sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_VM_STEP, 1))
  }

  /// How often the statement was prepared again since it was made.
  package var repreparationCount: Int64 {
    Int64(unsafe sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_REPREPARE, 0))
  }

  /// Makes the statement ready for its next use and drops the bound values.
  ///
  /// The code of `sqlite3_reset` repeats the last step's error, which was thrown already.
  package func reset() {
    unsafe sqlite3_reset(handle)
    unsafe sqlite3_clear_bindings(handle)
  }

  package var columnCount: Int { Int(unsafe sqlite3_column_count(handle)) }

  /// The type of the value in the current row.
  package func kind(_ column: Int) -> ColumnKind {
    switch unsafe sqlite3_column_type(handle, Int32(column)) {
    case SQLITE_INTEGER: .integer
    case SQLITE_TEXT: .text
    case SQLITE_BLOB: .blob
    case SQLITE_NULL: .null
    default: .float
    }
  }

  package enum ColumnKind: String, Sendable { case null, integer, float, text, blob }

  package func integer(_ column: Int) -> Int64 {
    unsafe sqlite3_column_int64(handle, Int32(column))
  }

  package func text(_ column: Int) -> String {
    String(decoding: blob(column), as: UTF8.self)
  }

  /// The bytes of a text or a blob.
  package func blob(_ column: Int) -> [UInt8] {
    let start = unsafe sqlite3_column_blob(handle, Int32(column))
    let count = unsafe Int(sqlite3_column_bytes(handle, Int32(column)))
    guard let start = unsafe start, count > 0 else { return [] }
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }

  private func check(_ code: Int32) throws(SQLiteError) {
    guard code == SQLITE_OK else { throw unsafe SQLiteConnection.error(of: connection) }
  }
}
