import Accounts
import Base
import JSON
import Requests
import Storage

/// What a device sealed for the account's recovery key, as it is stored. The server does not know what it is.
struct SealedBackup: Sendable {
  let version: Int64
  let content: [UInt8]

  static let byteCountMax = 64 * 1024
  /// The versions of an account that stay, the newest one included.
  static let countMax: Int64 = 5

  static func find(
    _ queryable: some Queryable, of account: Identifier, version: Int64? = nil
  ) throws -> SealedBackup? {
    let found = try queryable.first(
      """
      SELECT version, content FROM sync.key_backups WHERE account_id = $1 AND version <= $2
      ORDER BY version DESC LIMIT 1
      """, .id(account), .integer(version ?? Int64.max)
    ) { row in SealedBackup(version: try row.integer(0), content: try row.blob(1)) }
    guard let found, version == nil || version == found.version else { return nil }
    return found
  }

  /// The versions that are kept, the newest first, without their contents.
  static func list(_ queryable: some Queryable, of account: Identifier) throws -> [JSONValue] {
    try queryable.rows(
      """
      SELECT version, CAST(length(content) AS BIGINT), author_key, stored_ms FROM sync.key_backups
      WHERE account_id = $1 ORDER BY version DESC LIMIT $2
      """, .id(account), .integer(countMax)
    ) { row -> JSONValue in
      [
        "version": .integer(try row.integer(0)), "bytes": .integer(try row.integer(1)),
        "author": .base64(try row.blob(2)), "stored": .string(try row.instant(3).description),
      ]
    }
  }

  /// Stores a content as the next version. Versions rise and may leave numbers out. The account's row must be locked.
  static func put(
    _ transaction: Transaction, _ content: [UInt8], of account: Identifier, by author: [UInt8],
    as version: Int64, now: Instant
  ) throws {
    try transaction.execute(
      """
      INSERT INTO sync.key_backups (account_id, version, author_key, stored_ms, content)
      VALUES ($1, $2, $3, $4, $5)
      """, .id(account), .integer(version), .blob(author), .instant(now), .blob(content))
    try transaction.execute(
      """
      DELETE FROM sync.key_backups WHERE account_id = $1 AND version <= (
        SELECT version FROM sync.key_backups WHERE account_id = $1
        ORDER BY version DESC LIMIT 1 OFFSET $2)
      """, .id(account), .integer(countMax))
  }
}
