package import Base
package import JSON
import Requests
package import Storage

/// A key that an account's owner keeps apart from all devices, to get back in when they are lost. A device named it.
package struct RecoveryKey: Sendable {
  package let account: Identifier
  package let publicKey: [UInt8]
  /// For how many days devices can refuse what it asks for.
  package let delayDays: Int64
  package let named: Instant
  /// The signature of the device that named it.
  package let author: KeySignature
  /// The key's own signature of the same statement.
  package let proof: [UInt8]

  package static let delayDaysMax: Int64 = 7

  private static let columns =
    "account_id, public_key, delay_days, named_ms, statement_created_s, statement_author, "
    + "statement_signature, statement_proof"

  package init(
    account: Identifier, publicKey: [UInt8], delayDays: Int64, named: Instant,
    author: KeySignature, proof: [UInt8]
  ) {
    self.account = account
    self.publicKey = publicKey
    self.delayDays = delayDays
    self.named = named
    self.author = author
    self.proof = proof
  }

  private init(row: borrowing Row) throws {
    account = try row.id(0)
    publicKey = try row.blob(1)
    delayDays = try row.integer(2)
    named = try row.instant(3)
    author = KeySignature(
      created: try row.integer(4), author: try row.blob(5), signature: try row.blob(6))
    proof = try row.blob(7)
  }

  /// The account's recovery key; nil if it has none.
  package static func find(
    _ queryable: some Queryable, of account: Identifier
  ) throws -> RecoveryKey? {
    try queryable.first(
      "SELECT \(columns) FROM sync.recovery_keys WHERE account_id = $1 AND ended_ms IS NULL",
      .id(account)
    ) { row in try RecoveryKey(row: row) }
  }

  /// The recovery key that these bytes are now; nil if they are none.
  package static func find(
    _ queryable: some Queryable, _ publicKey: [UInt8]
  ) throws -> RecoveryKey? {
    try queryable.first(
      "SELECT \(columns) FROM sync.recovery_keys WHERE public_key = $1 AND ended_ms IS NULL",
      .blob(publicKey)
    ) { row in try RecoveryKey(row: row) }
  }

  /// The recovery keys, ended ones included, that let devices of the account in: links of their keys' chains.
  package static func inChains(
    _ queryable: some Queryable, of account: Identifier
  ) throws -> [RecoveryKey] {
    try queryable.rows(
      """
      SELECT \(columns) FROM sync.recovery_keys WHERE account_id = $1 AND public_key IN (
        SELECT statement_author FROM sync.device_keys WHERE account_id = $1)
      ORDER BY number LIMIT $2
      """, .id(account), .integer(Int64(Device.countInAllMax))
    ) { row in try RecoveryKey(row: row) }
  }

  /// Names the account's recovery key, whose row must be locked, in place of any other.
  ///
  /// - Throws: `keyRegistered` if it is a device's key, or another account's recovery key.
  package func name(_ transaction: Transaction) throws {
    if try Device.find(transaction, publicKey) != nil { throw AccountRefusal.keyRegistered }
    try Self.end(transaction, of: account, now: named)
    guard try insert(transaction, ended: nil) else { throw AccountRefusal.keyRegistered }
  }

  /// Writes the row. Returns false if the key is a live one already.
  package func insert(_ transaction: Transaction, ended: Instant?) throws -> Bool {
    let last = try transaction.number(
      "SELECT coalesce(max(number), 0) FROM sync.recovery_keys WHERE account_id = $1", .id(account))
    return try transaction.execute(
      """
      INSERT INTO sync.recovery_keys
        (account_id, number, public_key, delay_days, named_ms, ended_ms, statement_created_s,
         statement_author, statement_signature, statement_proof)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
      ON CONFLICT DO NOTHING
      """, .id(account), .integer(last + 1), .blob(publicKey), .integer(delayDays),
      .instant(named), .instant(ended), .integer(author.created), .blob(author.author),
      .blob(author.signature), .blob(proof)) == 1
  }

  /// Ends the account's recovery key at once. Returns false if it has none. Its row stays, once for each key, if it
  /// let a device in.
  @discardableResult
  package static func end(
    _ transaction: Transaction, of account: Identifier, now: Instant
  ) throws -> Bool {
    let deleted = try transaction.execute(
      """
      DELETE FROM sync.recovery_keys WHERE account_id = $1 AND ended_ms IS NULL
        AND (NOT EXISTS (SELECT 1 FROM sync.device_keys AS d
            WHERE d.account_id = $1 AND d.statement_author = recovery_keys.public_key)
          OR EXISTS (SELECT 1 FROM sync.recovery_keys AS e WHERE e.account_id = $1
            AND e.public_key = recovery_keys.public_key AND e.ended_ms IS NOT NULL))
      """, .id(account))
    let ended = try transaction.execute(
      "UPDATE sync.recovery_keys SET ended_ms = $2 WHERE account_id = $1 AND ended_ms IS NULL",
      .id(account), .instant(now))
    return deleted + ended > 0
  }
}

extension RecoveryKey {
  /// The key with its statement, as devices and other accounts see it.
  package var json: JSONValue {
    [
      "public_key": .base64(publicKey), "named": .string(named.description),
      "recovery": .object(
        author.members + [
          .init("delay_days", .integer(delayDays)), .init("proof", .base64(proof)),
        ]),
    ]
  }
}
