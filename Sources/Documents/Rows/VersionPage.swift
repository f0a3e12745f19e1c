import Base
import Storage

/// Versions in the order of an index, as many as one answer has.
struct VersionPage: Sendable {
  private(set) var versions: [StoredVersion] = []
  private(set) var isFull = false
  private var count = 0
  private var byteCount: Int64 = 0
  private let limit: Int

  static let limitMax = 500
  /// A page ends after so much, counted as it is charged. So an answer has less than 2.5 MiB.
  private static let byteCountMax: Int64 = 640 << 10

  init(limit: Int) { self.limit = limit }

  /// Adds the versions whose `column` is above `start` among those of a condition, until the page is full. First only
  /// their charges are read: one statement's rows are in memory on PostgreSQL, and each may have a mebibyte.
  ///
  /// - Parameter condition: Has the parameters from $1 on, for `values`.
  mutating func add(
    _ queryable: some Queryable, where condition: String, _ values: [SQLValue],
    _ column: String, after start: Int64
  ) throws {
    let (number, end) = ("$\(values.count + 1)", "$\(values.count + 2)")
    var last = start
    try queryable.query(
      """
      SELECT v.\(column), v.bytes + coalesce(t.bytes, 0) FROM \(StoredVersion.source)
      WHERE \(condition) AND \(column) > \(number) ORDER BY \(column) LIMIT \(end)
      """, values + [.integer(start), .integer(limit - versions.count + 1)]
    ) { row in
      guard count < limit, byteCount < Self.byteCountMax else {
        isFull = true
        return false
      }
      count += 1
      byteCount += try row.integer(1)
      last = try row.integer(0)
      return true
    }
    guard last > start else { return }
    versions += try queryable.rows(
      """
      SELECT \(StoredVersion.columns) FROM \(StoredVersion.source)
      WHERE \(condition) AND \(column) > \(number) AND \(column) <= \(end) ORDER BY \(column)
      """, values: values + [.integer(start), .integer(last)]
    ) { row in try StoredVersion(row: row) }
  }
}
