package import Base
internal import JSON
package import Storage

/// A key that may act for an account.
package struct Device: Sendable {
  package let publicKey: [UInt8]
  package let label: String
  package let added: Instant
  package let revoked: Instant?

  static let labelCharacterCountMax = 64
  /// Keys an account may hold that are not revoked.
  static let countMax = 64

  package static func list(
    _ queryable: some Queryable, of account: Identifier
  ) throws -> [Device] {
    try queryable.rows(
      """
      SELECT public_key, label, added_ms, revoked_ms FROM sync.device_keys
      WHERE account_id = $1 ORDER BY added_ms, public_key
      """, .id(account)
    ) { row in
      Device(
        publicKey: try row.blob(0), label: try row.text(1), added: try row.instant(2),
        revoked: try row.optionalInstant(3))
    }
  }

  @discardableResult
  static func add(
    _ transaction: Transaction, _ publicKey: [UInt8], to account: Identifier, label: String,
    now: Instant
  ) throws -> Device {
    let live = try list(transaction, of: account).filter { $0.revoked == nil }
    guard live.count < countMax else { throw Refusal.tooManyKeys(max: countMax) }
    // A revoked key stays on record and never comes back, for any account.
    let inserted = try transaction.execute(
      """
      INSERT INTO sync.device_keys (public_key, account_id, label, added_ms, revoked_ms)
      VALUES ($1, $2, $3, $4, NULL)
      ON CONFLICT (public_key) DO NOTHING
      """, .blob(publicKey), .id(account), .text(label), .instant(now))
    guard inserted == 1 else { throw Refusal.keyRegistered }
    return Device(publicKey: publicKey, label: label, added: now, revoked: nil)
  }

  /// The account keeps at least one key. The key's sessions end with it.
  static func revoke(
    _ transaction: Transaction, _ publicKey: [UInt8], of account: Identifier, now: Instant
  ) throws {
    let live = try list(transaction, of: account).filter { $0.revoked == nil }
    guard live.contains(where: { $0.publicKey == publicKey }) else { throw Refusal.keyNotFound }
    guard live.count > 1 else { throw Refusal.lastKey }
    try transaction.execute(
      "UPDATE sync.device_keys SET revoked_ms = $2 WHERE public_key = $1",
      .blob(publicKey), .instant(now))
    try transaction.execute(
      "DELETE FROM sync.sessions WHERE account_id = $1 AND public_key = $2",
      .id(account), .blob(publicKey))
  }

  var json: JSONValue {
    [
      "public_key": .string(Base64.standard.encode(publicKey)), "label": .string(label),
      "added": .string(added.description),
      "revoked": revoked.map { .string($0.description) } ?? .null,
    ]
  }
}
