package import Base

extension Queryable {
  /// Whether there is a row.
  package func hasRow(_ sql: String, _ values: SQLValue...) throws -> Bool {
    var isThere = false
    try query(sql, values) { _ in
      isThere = true
      return false
    }
    return isThere
  }

  /// The number in the first row; 0 without one.
  package func number(_ sql: String, _ values: SQLValue...) throws -> Int64 {
    var number: Int64 = 0
    try query(sql, values) { row in
      number = try row.integer(0)
      return false
    }
    return number
  }

  /// The id in every row.
  package func ids(_ sql: String, _ values: SQLValue...) throws -> [Identifier] {
    try rows(sql, values: values) { row in try row.id(0) }
  }

  /// The rows of a statement about many values, a slice of them at a time. `sql` gets the parameters of each slice.
  package func rows<Value>(
    among many: [SQLValue], _ sql: (_ list: String) -> String,
    row: (borrowing Row) throws -> Value
  ) throws -> [Value] {
    var found: [Value] = []
    for list in SQLList.slices(of: many, after: 0) {
      found += try rows(sql(list.parameters), values: list.values, row: row)
    }
    return found
  }
}
