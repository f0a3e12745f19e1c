package import Base
package import Storage

/// A selection of entries from both chains.
package struct AuditQuery: Sendable {
  /// The account that the acts concerned, or that lost by them.
  package var account: Identifier?
  /// The actor as an entry shows it, or the part before the brackets.
  package var actor: String?
  package var since: Instant?
  /// The object of the acts. All entries since then are searched.
  package var subject: String?

  package init() {}

  /// Entries after `after`, newest first; at most `limit`.
  package func entries(
    after: AuditEntry?, limit: Int, reading reader: some Queryable
  ) throws -> [AuditEntry] {
    let columns: [String?] = account == nil ? [nil] : ["account_id", "former_account_id"]
    var found: [AuditEntry.Name: AuditEntry] = [:]
    for schema in Schema.allCases {
      for column in columns {
        for entry in try entries(of: schema, column, after: after, limit: limit, reader) {
          found[entry.name] = entry
        }
      }
    }
    return Array(found.values.sorted { $0.place > $1.place }.prefix(limit))
  }

  /// The number of all matching entries, counted up to `limit`.
  package func count(upTo limit: Int64, reading reader: Reader) throws -> Int64 {
    var count: Int64 = 0
    for schema in Schema.allCases {
      var (condition, values) = condition(of: schema, "account_id", or: "former_account_id")
      values.append(.integer(limit - count))
      count +=
        try reader.rows(
          """
          SELECT count(*) FROM (
            SELECT 1 FROM \(schema).audit WHERE \(condition) LIMIT $\(values.count)
          ) AS counted
          """, values: values
        ) { row in try row.integer(0) }.first ?? 0
    }
    return count
  }

  /// `column` is the one that names `account`.
  private func entries(
    of schema: Schema, _ column: String?, after: AuditEntry?, limit: Int,
    _ reader: some Queryable
  ) throws -> [AuditEntry] {
    var (condition, values) = condition(of: schema, column, after: after)
    values.append(.integer(limit))
    return try reader.rows(
      """
      SELECT \(AuditEntry.columns) FROM \(schema).audit WHERE \(condition)
      ORDER BY at_ms DESC, number DESC LIMIT $\(values.count)
      """, values: values
    ) { row in try AuditEntry(row, of: schema) }
  }

  /// Either `column` or `other` names `account`.
  private func condition(
    of schema: Schema, _ column: String?, or other: String? = nil, after: AuditEntry? = nil
  ) -> (sql: String, values: [SQLValue]) {
    var sql = "at_ms >= $1 AND at_ms <= $2 AND (at_ms < $2 OR number < $3)"
    var values: [SQLValue] = [
      .instant(since ?? .distantPast), .instant(after?.at ?? .distantFuture),
      .integer(after?.numberBelow(in: schema) ?? .max),
    ]
    if let column, let account {
      values.append(.id(account))
      let names = [column, other].compactMap { $0.map { "\($0) = $\(values.count)" } }
      sql += " AND (\(names.joined(separator: " OR ")))"
    }
    if let actor {
      // The closing bracket is the next character after the opening one.
      values += [.text(actor), .text(actor + " ("), .text(actor + " )")]
      let first = values.count - 2
      sql += " AND (actor = $\(first) OR (actor >= $\(first + 1) AND actor < $\(first + 2)))"
    }
    if let subject {
      values.append(.text(subject))
      sql += " AND subject = $\(values.count)"
    }
    return (sql, values)
  }
}

extension AuditEntry {
  package static func find(_ name: Name, reading reader: some Queryable) throws -> AuditEntry? {
    try reader.first(
      "SELECT \(columns) FROM \(name.schema).audit WHERE number = $1", .integer(name.number)
    ) { row in try AuditEntry(row, of: name.schema) }
  }

  /// The order in which both chains are shown as one.
  fileprivate var place: (Instant, String, Int64) { (at, name.schema.rawValue, name.number) }

  /// The number below which a chain's entries come after this one, among those of the same moment.
  fileprivate func numberBelow(in schema: Schema) -> Int64 {
    if schema == name.schema { return name.number }
    return schema.rawValue < name.schema.rawValue ? .max : 0
  }
}
