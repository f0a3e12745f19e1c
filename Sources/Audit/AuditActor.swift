package import Base
package import Storage

extension AuditLog {
  /// The actor of what happened to an account at a moment; nil if no act is known.
  package static func actor(
    of account: Identifier, at moment: Instant, reading database: some Queryable
  ) throws -> String? {
    try database.first(
      """
      SELECT actor FROM billing.audit WHERE account_id = $1 AND at_ms = $2 ORDER BY number LIMIT 1
      """, .id(account), .instant(moment)
    ) { row in try row.text(0) }
  }
}
