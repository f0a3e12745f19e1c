package import Base

/// Values for an `IN (…)` of a statement.
///
/// The last value is repeated up to a power of two, so that a statement has few texts. Each is prepared once and kept.
package struct SQLList: Sendable {
  package let values: [SQLValue]
  private let names: [String]

  /// `$3, $4, …`
  package var parameters: String { names.joined(separator: ", ") }

  /// `($3), ($4), …`: the rows of a `VALUES`.
  package var rows: String { names.map { "(\($0))" }.joined(separator: ", ") }

  private init(_ values: ArraySlice<SQLValue>, after count: Int) {
    var room = 1
    while room < values.count { room *= 2 }
    let missing = values.last.map { [SQLValue](repeating: $0, count: room - values.count) }
    self.values = values + (missing ?? [])
    names = self.values.indices.map { "$\(count + $0 + 1)" }
  }

  /// Lists of at most `count` values each. In the statement, `parameterCount` parameters precede each list.
  package static func slices(
    of values: [SQLValue], count: Int = 512, after parameterCount: Int
  ) -> [SQLList] {
    stride(from: 0, to: values.count, by: count).map { start in
      SQLList(values[start..<min(start + count, values.count)], after: parameterCount)
    }
  }
}

extension Transaction {
  /// Rows of one INSERT; what is left is split into powers of two, so that few statements are prepared.
  private static let insertedCountMax = 64

  /// Inserts rows into `sync.<columns>` whose first value is `owner`. `conflict` is what follows the values.
  package func insert(
    _ rows: [[SQLValue]], of owner: Identifier, into columns: String, conflict: String = ""
  ) throws {
    var rest = rows[...]
    while !rest.isEmpty {
      var count = Self.insertedCountMax
      while count > rest.count { count /= 2 }
      var values: [SQLValue] = [.id(owner)]
      // One text that grows: a statement has up to a thousand parameters, and is written out for each request.
      var tuples = ""
      for row in rest.prefix(count) {
        tuples += tuples.isEmpty ? "($1" : ", ($1"
        for value in row {
          values.append(value)
          tuples += ", $"
          tuples += String(values.count)
        }
        tuples += ")"
      }
      rest = rest.dropFirst(count)
      try execute("INSERT INTO sync.\(columns) VALUES \(tuples) \(conflict)", values: values)
    }
  }
}

extension Queryable {
  /// The rows of a statement with a list of values, for as many lists as there must be, in no order across lists. `sql`
  /// gets the parameters of a list; the statement's first parameters are `before`.
  package func rows<Value>(
    in values: [SQLValue], _ before: SQLValue..., sql: (_ list: String) -> String,
    row: (borrowing Row) throws -> Value
  ) throws -> [Value] {
    try SQLList.slices(of: values, after: before.count).flatMap { list in
      try rows(sql(list.parameters), values: before + list.values, row: row)
    }
  }
}

extension Transaction {
  /// Runs a statement with a list of values, for as many lists as there must be. Otherwise as `rows`.
  package func execute(
    in values: [SQLValue], _ before: SQLValue..., sql: (_ list: String) -> String
  ) throws {
    for list in SQLList.slices(of: values, after: before.count) {
      try execute(sql(list.parameters), values: before + list.values)
    }
  }
}
