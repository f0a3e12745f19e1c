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
}
