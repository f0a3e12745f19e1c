import Base
import Storage
import Tiers

/// The record that something is paid for an account that does not exist: its app names another one
/// to the store, or one of another installation.
enum UnknownAccount {
  /// The record is shown only while the account does not exist, because it may be opened later.
  static func note(
    _ account: Identifier, _ schedule: Schedule, at now: Instant, in transaction: Transaction
  ) throws {
    guard let end = schedule.boundaries.last?.from, end > now else {
      try transaction.execute(
        "DELETE FROM billing.unknown_accounts WHERE account_id = $1", .id(account))
      return
    }
    let exists = try transaction.first(
      "SELECT 1 FROM sync.accounts WHERE id = $1", .id(account)
    ) { row in try row.integer(0) }
    guard exists == nil else { return }
    try transaction.execute(
      """
      INSERT INTO billing.unknown_accounts (account_id, since_ms, until_ms) VALUES ($1, $2, $3)
      ON CONFLICT (account_id) DO UPDATE SET until_ms = excluded.until_ms
      """, .id(account), .instant(now), .instant(end))
  }
}
