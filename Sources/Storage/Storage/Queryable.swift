/// A source of rows: a read snapshot or a write transaction.
///
/// Statements are whole literals in the shared dialect (see `Dialect`), with all values as `$1`, `$2`, …, each used.
package protocol Queryable {
  func query(_ sql: String, _ values: [SQLValue], row: (borrowing Row) throws -> Bool) throws

  /// The work of the statements so far.
  var work: DatabaseWork { get }
}

extension Queryable {
  /// Every row, decoded. Bound their number with LIMIT. Also works for "… RETURNING …".
  package func rows<Value>(
    _ sql: String, _ values: SQLValue..., row: (borrowing Row) throws -> Value
  ) throws -> [Value] {
    try rows(sql, values: values, row: row)
  }

  /// The form for a number of values known at run time.
  package func rows<Value>(
    _ sql: String, values: [SQLValue], row: (borrowing Row) throws -> Value
  ) throws -> [Value] {
    var result: [Value] = []
    try query(sql, values) { current in
      result.append(try row(current))
      return true
    }
    return result
  }

  /// The first row, decoded, or nil. Without ORDER BY or a unique key, it can be any row.
  package func first<Value>(
    _ sql: String, _ values: SQLValue..., row: (borrowing Row) throws -> Value
  ) throws -> Value? {
    var result: Value?
    try query(sql, values) { current in
      result = try row(current)
      return false
    }
    return result
  }
}

/// A consistent snapshot of both schemas; nothing can be written through it.
package struct Reader: Queryable {
  private let session: Session

  package init(_ session: Session) { self.session = session }

  package var work: DatabaseWork { session.work }

  package func query(
    _ sql: String, _ values: [SQLValue], row: (borrowing Row) throws -> Bool
  ) throws {
    _ = try session.run(sql, values, row: row)
  }
}

/// A write transaction: all of it becomes durable, or none.
///
/// The first failed statement ends it, so use ON CONFLICT. Its body may run again, so it must have no other effect.
package struct Transaction: Queryable {
  private let session: Session

  package init(_ session: Session) { self.session = session }

  package var work: DatabaseWork { session.work }

  package func query(
    _ sql: String, _ values: [SQLValue], row: (borrowing Row) throws -> Bool
  ) throws {
    _ = try session.run(sql, values, row: row)
  }

  /// Has a change told to all programs that listen, after the commit. Nothing is told of a transaction that is undone.
  package func report(_ news: News) { session.report(news) }

  /// Names the device key on whose request the transaction writes, for what is reported from now on.
  package func write(onRequestOf author: [UInt8]) { session.author = author }

  var news: Set<News> { session.news }

  /// Returns the number of changed rows.
  @discardableResult
  package func execute(_ sql: String, _ values: SQLValue...) throws -> Int {
    try execute(sql, values: values)
  }

  /// The form for a number of values known at run time.
  @discardableResult
  package func execute(_ sql: String, values: [SQLValue]) throws -> Int {
    try session.run(sql, values) { _ in true }
  }
}
