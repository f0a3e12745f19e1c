internal import Base
internal import Crypto
internal import HTTPSignatures
internal import JSON
internal import Storage

/// Short-lived bearer tokens for clients that sync often, so that not every request is signed.
///
/// Only a token's hash is stored. The token is derived from the signature that asked for it and a
/// random salt, and the recorded outcome holds the salt: the same request repeated gets the same
/// token, while the database alone never yields one.
enum Sessions {
  static let lifetime = Instant.Span.hours(1)
  /// Live sessions per account; the oldest give way.
  static let countMax: Int64 = 64

  static func hash(token: [UInt8]) -> [UInt8] { SHA256.hash(token) }

  static func create(
    _ transaction: Transaction, _ credentials: Credentials, now: Instant
  ) throws -> Outcome {
    let signature = try credentials.requireSignature()
    let locked = try LockedCaller(transaction, credentials, now: now)
    return try Nonces.once(transaction, credentials) {
      let salt = Random.bytes(32)
      let expires = now + lifetime
      try makeRoom(transaction, locked.caller.account)
      try transaction.execute(
        """
        INSERT INTO sync.sessions (token_hash, account_id, public_key, expires_ms)
        VALUES ($1, $2, $3, $4)
        """,
        .blob(hash(token: token(signature, salt: salt))), .id(locked.caller.account),
        .blob(locked.caller.publicKey), .instant(expires))
      return Outcome(
        status: 201, body: salt + Array(String(expires.milliseconds).utf8))
    }
  }

  /// Turns the recorded salt and expiry into what the client reads.
  static func reveal(_ recorded: Outcome, to signature: VerifiedSignature) -> Outcome {
    let token = token(signature, salt: Array(recorded.body.prefix(32)))
    let milliseconds = Int64(String(decoding: recorded.body.dropFirst(32), as: UTF8.self)) ?? 0
    return Outcome(
      201, headers: [("Cache-Control", "no-store")],
      [
        "token": .string(String(decoding: token, as: UTF8.self)),
        "expires": .string(Instant(milliseconds: milliseconds).description),
      ])
  }

  private static func token(_ signature: VerifiedSignature, salt: [UInt8]) -> [UInt8] {
    Array(Base64.url.encode(HMACSHA256.code(key: Secret(salt), signature.signature)).utf8)
  }

  private static func makeRoom(_ transaction: Transaction, _ account: Identifier) throws {
    try transaction.execute(
      """
      DELETE FROM sync.sessions WHERE account_id = $1 AND token_hash NOT IN (
        SELECT token_hash FROM sync.sessions WHERE account_id = $1
        ORDER BY expires_ms DESC LIMIT $2)
      """,
      .id(account), .integer(countMax - 1))
  }
}
