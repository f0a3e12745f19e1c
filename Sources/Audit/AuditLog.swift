package import Base
package import JSON
package import Storage

/// The acts of operators, with actor and reason, in a chain for each schema, as a transaction writes one schema. An
/// entry's digest covers the digest before it. So `AuditCheck` finds what was changed, left out or inserted, but a
/// missing end only if a head was stored elsewhere.
package enum AuditLog {
  /// An act, before it has its place in the chain.
  package struct Draft: Sendable {
    let actor: String
    let act: String
    let subject: String
    let account: Identifier?
    let formerAccount: Identifier?
    let reason: String
    let before: JSONValue
    let after: JSONValue

    /// `act` is the command's name, with the step if each has an entry. `subject` is what it was done to, `account`
    /// the one concerned, `formerAccount` the one that lost by it. No member may hold a secret.
    package init(
      actor: String, act: String, subject: String, account: Identifier? = nil,
      formerAccount: Identifier? = nil, reason: String, before: JSONValue, after: JSONValue
    ) {
      self.actor = actor
      self.act = act
      self.subject = subject
      self.account = account
      self.formerAccount = formerAccount
      self.reason = reason
      self.before = before
      self.after = after
    }
  }

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

  /// Adds an entry in the transaction of the act, which must own `schema`.
  @discardableResult
  package static func append(
    _ draft: Draft, to schema: Schema = .billing, at now: Instant, in transaction: Transaction
  ) throws -> AuditEntry {
    let head = try takeHead(of: schema, in: transaction)
    let entry = AuditEntry(draft, schema, number: head.number, at: now, after: head.digest)
    try transaction.execute(
      """
      INSERT INTO \(schema).audit (\(AuditEntry.columns))
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
      """, .integer(entry.name.number), .instant(now), .text(entry.actor), .text(entry.act),
      .text(entry.subject), .id(entry.account), .id(entry.formerAccount), .text(entry.reason),
      .text(entry.before), .text(entry.after), .blob(entry.digest))
    try transaction.execute(
      "UPDATE \(schema).audit_head SET digest = $1 WHERE id = 1", .blob(entry.digest))
    return entry
  }

  /// The next number, and the digest before. The row's lock makes simultaneous acts follow each other.
  private static func takeHead(
    of schema: Schema, in transaction: Transaction
  ) throws -> (number: Int64, digest: [UInt8]) {
    try transaction.execute(
      """
      INSERT INTO \(schema).audit_head (id, number, digest) VALUES (1, 0, $1)
      ON CONFLICT (id) DO NOTHING
      """, .blob(AuditEntry.noDigest))
    let head = try transaction.first(
      "UPDATE \(schema).audit_head SET number = number + 1 WHERE id = 1 RETURNING number, digest"
    ) { row in (try row.integer(0), try row.blob(1)) }
    guard let head else { throw DatabaseError.statement("the audit log has no head") }
    return head
  }
}
