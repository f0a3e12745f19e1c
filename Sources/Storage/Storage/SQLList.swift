/// Values for an `IN (…)` of a statement.
///
/// The last value is repeated up to a power of two, so that a statement has few texts. Each is
/// prepared once and kept.
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

  /// Lists of at most `count` values each; none if there are no values. In the statement,
  /// `parameterCount` parameters precede each list.
  package static func slices(
    of values: [SQLValue], count: Int = 512, after parameterCount: Int
  ) -> [SQLList] {
    stride(from: 0, to: values.count, by: count).map { start in
      SQLList(values[start..<min(start + count, values.count)], after: parameterCount)
    }
  }
}
