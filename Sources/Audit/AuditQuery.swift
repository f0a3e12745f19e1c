package import Base
package import Storage

/// Which entries of both chains are wanted.
package struct AuditQuery: Sendable {
  /// Whose affair they were, or who lost by them.
  package var account: Identifier?
  /// As an entry tells it, or what stands there before what is told in brackets.
  package var actor: String?
  package var since: Instant?

  package init() {}

  /// The newest first, starting behind `after`; at most `limit`.
  package func entries(
    after: AuditEntry?, limit: Int, reading reader: Reader
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

  /// `column` is the one that names `account`.
  private func entries(
    of schema: Schema, _ column: String?, after: AuditEntry?, limit: Int, _ reader: Reader
  ) throws -> [AuditEntry] {
    var sql = """
      SELECT \(AuditEntry.columns) FROM \(schema).audit
      WHERE at_ms >= $1 AND at_ms <= $2 AND (at_ms < $2 OR number < $3)
      """
    var values: [SQLValue] = [
      .instant(since ?? .distantPast), .instant(after?.at ?? .distantFuture),
      .integer(after?.numberBelow(in: schema) ?? .max),
    ]
    if let column, let account {
      values.append(.id(account))
      sql += " AND \(column) = $\(values.count)"
    }
    if let actor {
      // A bracket is the next character behind its opening.
      values += [.text(actor), .text(actor + " ("), .text(actor + " )")]
      let first = values.count - 2
      sql += " AND (actor = $\(first) OR (actor >= $\(first + 1) AND actor < $\(first + 2)))"
    }
    values.append(.integer(limit))
    sql += " ORDER BY at_ms DESC, number DESC LIMIT $\(values.count)"
    return try reader.rows(sql, values: values) { row in try AuditEntry(row, of: schema) }
  }
}

extension AuditEntry {
  package static func find(_ name: Name, reading reader: Reader) throws -> AuditEntry? {
    try reader.first(
      "SELECT \(columns) FROM \(name.schema).audit WHERE number = $1", .integer(name.number)
    ) { row in try AuditEntry(row, of: name.schema) }
  }

  /// The order in which both chains are told as one.
  fileprivate var place: (Instant, String, Int64) { (at, name.schema.rawValue, name.number) }

  /// Which numbers of a chain, among entries of the same moment, come behind this one: those below.
  fileprivate func numberBelow(in schema: Schema) -> Int64 {
    if schema == name.schema { return name.number }
    return schema.rawValue < name.schema.rawValue ? .max : 0
  }
}
