package import Base
import Crypto
import HTTPSignatures
package import Storage

/// A key, checked against the database, of an account that may make requests now.
package struct Caller: Sendable {
  package let account: Identifier
  /// Empty if an app makes the request: it has no key.
  package let publicKey: [UInt8]
  /// Whether an operator blocked the account's writes.
  package let isSuspended: Bool

  /// In a transaction, the key is then the author of what is reported. Throws if the key is unknown or revoked, the
  /// session is over, or the account's requests are used up.
  package init(_ queryable: some Queryable, _ credentials: Credentials, now: Instant) throws {
    do { try self.init(queryable, credentials.proof, now: now) } catch let refusal as RequestRefusal
    {
      credentials.meter.reject()
      throw refusal
    }
    try credentials.meter.confirm(account)
    if let transaction = queryable as? Transaction, !publicKey.isEmpty {
      transaction.write(onRequestOf: publicKey)
    }
  }

  private init(_ queryable: some Queryable, _ proof: Credentials.Proof, now: Instant) throws {
    switch proof {
    case .signed(let signature): self = try Self.ofKey(queryable, signature.keyID.bytes)
    case .key(let publicKey): self = try Self.ofKey(queryable, publicKey)
    case .session(let tokenHash):
      let found = try queryable.first(
        """
        SELECT k.public_key, k.account_id, k.revoked_ms, a.suspended_ms
        FROM sync.sessions AS s JOIN sync.device_keys AS k ON k.public_key = s.public_key
          JOIN sync.accounts AS a ON a.id = k.account_id
        WHERE s.token_hash = $1 AND s.expires_ms > $2
        """, .blob(tokenHash), .instant(now)
      ) { row in
        (
          try row.blob(0), try row.id(1), try row.optionalInteger(2), try row.optionalInteger(3)
        )
      }
      guard let (publicKey, account, revoked, suspended) = found else {
        throw RequestRefusal.unknownSession
      }
      guard revoked == nil else { throw RequestRefusal.revokedKey }
      self = Caller(account: account, publicKey: publicKey, isSuspended: suspended != nil)
    case .app(let tokenHash):
      let found = try queryable.first(
        """
        SELECT t.account_id, a.suspended_ms
        FROM sync.app_tokens AS t JOIN sync.accounts AS a ON a.id = t.account_id
        WHERE t.token_hash = $1
        """, .blob(tokenHash)
      ) { row in (try row.id(0), try row.optionalInteger(1)) }
      guard let (account, suspended) = found else { throw RequestRefusal.unknownSession }
      self = Caller(account: account, publicKey: [], isSuspended: suspended != nil)
    }
  }

  private init(account: Identifier, publicKey: [UInt8], isSuspended: Bool) {
    self.account = account
    self.publicKey = publicKey
    self.isSuspended = isSuspended
  }

  private static func ofKey(
    _ queryable: some Queryable, _ publicKey: [UInt8]
  ) throws -> Caller {
    let found = try queryable.first(
      """
      SELECT k.account_id, k.revoked_ms, a.suspended_ms
      FROM sync.device_keys AS k JOIN sync.accounts AS a ON a.id = k.account_id
      WHERE k.public_key = $1
      """, .blob(publicKey)
    ) { row in (try row.id(0), try row.optionalInteger(1), try row.optionalInteger(2)) }
    guard let (account, revoked, suspended) = found else {
      throw try isRecoveryKey(queryable, publicKey)
        ? RequestRefusal.recoveryKey : RequestRefusal.unknownKey
    }
    guard revoked == nil else { throw RequestRefusal.revokedKey }
    return Caller(account: account, publicKey: publicKey, isSuspended: suspended != nil)
  }

  /// A recovery key acts for no account here, so that it can do nothing that an endpoint does not expect of it.
  private static func isRecoveryKey(
    _ queryable: some Queryable, _ publicKey: [UInt8]
  ) throws -> Bool {
    try queryable.first(
      "SELECT 1 FROM sync.recovery_keys WHERE public_key = $1 AND ended_ms IS NULL",
      .blob(publicKey)
    ) { _ in true } ?? false
  }
}
