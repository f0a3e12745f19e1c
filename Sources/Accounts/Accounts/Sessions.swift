package import Base
import Crypto
package import JSON
package import Requests
package import Storage

/// Short-lived bearer tokens, so that clients that sync often need not sign every request. Only a token's hash is
/// stored, which also names the session. The response with a token is never repeated: who replays the request gets
/// none, and a client that lost it signs another request.
package enum Sessions {
  static let lifetime = Instant.Span.hours(1)
  /// The most live sessions of an account. A new one ends the oldest.
  static let countMax: Int64 = 64

  /// How late a key's row may be about its last session, which avoids a write in every hour.
  private static let notedAfter = Instant.Span.days(1)

  /// A new session, with the only copy of its token.
  package struct New: Sendable {
    package let token: Secret
    package let expires: Instant

    package var json: JSONValue {
      [
        "token": .string(String(decoding: token.exposed, as: UTF8.self)),
        "id": .string(Sessions.id(Credentials.hash(token: token.exposed))),
        "expires": .string(expires.description),
      ]
    }
  }

  package static func create(
    _ transaction: Transaction, _ credentials: Credentials, now: Instant
  ) throws -> New {
    let signature = try credentials.requireSignature()
    let caller = try LockedCaller(transaction, credentials, now: now).caller
    try Nonces.spend(transaction, signature)
    let token = Array(Base64.url.encode(Random.bytes(32)).utf8)
    let expires = now + lifetime
    try makeRoom(transaction, caller.account)
    try transaction.execute(
      """
      INSERT INTO sync.sessions (token_hash, account_id, public_key, expires_ms)
      VALUES ($1, $2, $3, $4)
      """,
      .blob(Credentials.hash(token: token)), .id(caller.account), .blob(caller.publicKey),
      .instant(expires))
    try transaction.execute(
      """
      UPDATE sync.device_keys SET last_session_ms = $2
      WHERE public_key = $1 AND last_session_ms < $3
      """, .blob(caller.publicKey), .instant(now), .instant(now - notedAfter))
    return New(token: Secret(token), expires: expires)
  }

  private static func makeRoom(_ transaction: Transaction, _ account: Identifier) throws {
    let count = try transaction.execute(
      """
      DELETE FROM sync.sessions WHERE account_id = $1 AND token_hash NOT IN (
        SELECT token_hash FROM sync.sessions WHERE account_id = $1
        ORDER BY expires_ms DESC LIMIT $2)
      """,
      .id(account), .integer(countMax - 1))
    if count > 0 { transaction.report(News(of: account, .account)) }
  }

  /// The account's live sessions, newest first.
  package static func list(
    _ reader: Reader, of account: Identifier, askedBy proof: Credentials.Proof, now: Instant
  ) throws -> JSONValue {
    let sessions = try reader.rows(
      """
      SELECT token_hash, public_key, expires_ms FROM sync.sessions
      WHERE account_id = $1 AND expires_ms > $2 ORDER BY expires_ms DESC, token_hash LIMIT $3
      """, .id(account), .instant(now), .integer(countMax)
    ) { row -> JSONValue in
      let hash = try row.blob(0)
      let expires = try row.instant(2)
      return [
        "id": .string(id(hash)), "public_key": .base64(try row.blob(1)),
        "created": .string((expires - lifetime).description),
        "expires": .string(expires.description), "current": .bool(hash == proof.tokenHash),
      ]
    }
    return ["sessions": .array(sessions)]
  }

  /// The session that a path names: `current`, or an id.
  package enum Name: Sendable {
    case current
    case hash([UInt8])

    private static let hashByteCount = 32

    package init(_ text: String) throws(AccountRefusal) {
      if text == "current" {
        self = .current
      } else if let hash = Base64.url.decode(text), hash.count == Self.hashByteCount {
        self = .hash(hash)
      } else {
        throw .sessionNotFound
      }
    }
  }

  /// Ends the session of the request. A key may end any session of its account.
  package static func end(
    _ transaction: Transaction, _ name: Name, _ credentials: Credentials, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, credentials, now: now) { locked in
      let own = credentials.proof.tokenHash
      let hash: [UInt8]
      switch name {
      case .current:
        guard let own else { throw AccountRefusal.sessionNotFound }
        hash = own
      case .hash(let named):
        if let own, own != named { throw RequestRefusal.signatureRequired }
        hash = named
      }
      let count = try transaction.execute(
        "DELETE FROM sync.sessions WHERE token_hash = $1 AND account_id = $2",
        .blob(hash), .id(locked.caller.account))
      guard count == 1 else { throw AccountRefusal.sessionNotFound }
      transaction.report(News(of: locked.caller.account, .account))
      return Outcome(status: 204, body: [])
    }
  }

  private static func id(_ tokenHash: [UInt8]) -> String { Base64.url.encode(tokenHash) }
}
