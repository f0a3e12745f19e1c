import CPostgres

/// The whole answer to one statement, freed with its last reference.
@safe
package final class PostgresResult {
  package let columnCount: Int
  package let rowCount: Int
  /// Rows changed by INSERT, UPDATE or DELETE; otherwise 0.
  package let changedRowCount: Int

  private let handle: OpaquePointer
  private let kinds: [ColumnKind]

  /// Takes over `handle`, whose columns are in binary format.
  init(owning handle: OpaquePointer) {
    unsafe self.handle = unsafe handle
    columnCount = unsafe Int(PQnfields(handle))
    rowCount = unsafe Int(PQntuples(handle))
    // For a SELECT the server reports the number of its rows in the same place.
    let isSelect = unsafe String(cString: PQcmdStatus(handle)).hasPrefix("SELECT")
    changedRowCount = isSelect ? 0 : unsafe Int(String(cString: PQcmdTuples(handle))) ?? 0
    var kinds: [ColumnKind] = []
    for column in 0..<(unsafe PQnfields(handle)) {
      kinds.append(ColumnKind(type: unsafe PQftype(handle, column)))
    }
    self.kinds = kinds
  }

  deinit { unsafe PQclear(handle) }

  /// The types of the shared dialect; all other types are `other`.
  package enum ColumnKind: String, Sendable {
    case integer, text, blob, other

    /// Takes the type's fixed number (src/include/catalog/pg_type.dat).
    init(type: Oid) {
      self =
        switch type {
        case 20, 21, 23: .integer
        case 25, 1042, 1043: .text
        case 17: .blob
        default: .other
        }
    }
  }

  package func kind(_ column: Int) -> ColumnKind { kinds[column] }

  package func isNull(row: Int, column: Int) -> Bool {
    unsafe PQgetisnull(handle, Int32(row), Int32(column)) == 1
  }

  /// Reads a big-endian integer of two, four or eight bytes.
  package func integer(row: Int, column: Int) -> Int64 {
    let bytes = blob(row: row, column: column)
    let isNegative = (bytes.first ?? 0) & 0x80 != 0
    return bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
  }

  package func text(row: Int, column: Int) -> String {
    String(decoding: blob(row: row, column: column), as: UTF8.self)
  }

  /// The value's bytes as they were received.
  package func blob(row: Int, column: Int) -> [UInt8] {
    let count = unsafe Int(PQgetlength(handle, Int32(row), Int32(column)))
    guard let start = unsafe PQgetvalue(handle, Int32(row), Int32(column)), count > 0 else {
      return []
    }
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }
}
