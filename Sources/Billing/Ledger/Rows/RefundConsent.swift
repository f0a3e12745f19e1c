package import Base
package import Storage

/// An account's consent that a store that asks before a refund may learn how much the account uses.
package enum RefundConsent {
  /// Since when the account consents; nil if it does not.
  package static func since(
    of account: Identifier, reading database: some Queryable
  ) throws -> Instant? {
    try database.first(
      "SELECT given_ms FROM billing.refund_consents WHERE account_id = $1", .id(account)
    ) { row in try row.instant(0) }
  }

  package static func give(
    by account: Identifier, at now: Instant, in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO billing.refund_consents (account_id, given_ms) VALUES ($1, $2)
      ON CONFLICT (account_id) DO NOTHING
      """, .id(account), .instant(now))
  }

  package static func withdraw(by account: Identifier, in transaction: Transaction) throws {
    try transaction.execute(
      "DELETE FROM billing.refund_consents WHERE account_id = $1", .id(account))
  }
}
