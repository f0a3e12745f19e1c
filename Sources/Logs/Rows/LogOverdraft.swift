import Accounts
package import Base
package import Storage

/// How far messages alone may take an account above its cap: about a year's edits. A deletion is a message as well, and
/// no one can tell which, so an account that is full could never use less.
///
/// It counts what was appended above the cap, so an account whose cap was lowered far below its usage has as much.
package enum LogOverdraft {
  static let byteCountMax: Int64 = 1 << 20

  /// The bytes of messages above the cap, in an account that is above it.
  package static func byteCount(
    _ queryable: some Queryable, of account: Identifier
  ) throws -> Int64 {
    try queryable.first(
      "SELECT bytes FROM sync.log_overdrafts WHERE account_id = $1", .id(account)
    ) { row in try row.integer(0) } ?? 0
  }

  /// Changes it by a number of bytes. The account's row must be locked.
  static func change(
    _ transaction: Transaction, of account: Identifier, by delta: Int64
  ) throws {
    let before = try byteCount(transaction, of: account)
    let after = max(0, before + delta)
    guard after != before else { return }
    guard after > 0 else { return try clear(transaction, of: account) }
    try transaction.execute(
      """
      INSERT INTO sync.log_overdrafts (account_id, bytes) VALUES ($1, $2)
      ON CONFLICT (account_id) DO UPDATE SET bytes = excluded.bytes
      """, .id(account), .integer(after))
  }

  static func clear(_ transaction: Transaction, of account: Identifier) throws {
    try transaction.execute(
      "DELETE FROM sync.log_overdrafts WHERE account_id = $1", .id(account))
  }
}
