import Base
import Crypto
package import HTTPSignatures
package import Requests
package import Storage

/// Records the outcome of each signed request, in the transaction of its effect. The same request again gets the
/// recorded outcome; a different one with its nonce is a replay. A refused request leaves no nonce and is judged
/// again. Rows are deleted when their signature expires.
package enum Nonces {
  /// Runs `effect` unless this request was already carried out. The caller's row must be locked.
  package static func once(
    _ transaction: Transaction, _ credentials: Credentials, _ effect: () throws -> Outcome
  ) throws -> Outcome {
    if let recorded = try recorded(transaction, credentials) { return recorded }
    let outcome = try effect()
    if case .signed(let signature) = credentials.proof, let nonce = signature.nonce {
      try record(transaction, signature, nonce, outcome)
    }
    return outcome
  }

  /// Uses a nonce for a response that is given once. The same request again is a replay, too.
  package static func spend(_ transaction: Transaction, _ signature: VerifiedSignature) throws {
    guard let nonce = signature.nonce else { throw RequestRefusal.signature(.nonceMissing) }
    try record(transaction, signature, nonce, Outcome(status: 201, body: []))
  }

  package static func recorded(
    _ queryable: some Queryable, _ credentials: Credentials
  ) throws -> Outcome? {
    guard case .signed(let signature) = credentials.proof, let nonce = signature.nonce else {
      return nil
    }
    let found = try queryable.first(
      """
      SELECT fingerprint, status, headers, body FROM sync.nonces
      WHERE public_key = $1 AND nonce = $2
      """,
      .blob(signature.keyID.bytes), .blob(nonce)
    ) { row in
      (
        fingerprint: try row.blob(0),
        outcome: Outcome(
          status: try row.integer(1), headerText: try row.text(2), body: try row.blob(3))
      )
    }
    guard let found else { return nil }
    guard found.fingerprint == signature.fingerprint else { throw RequestRefusal.replayed }
    return found.outcome
  }

  private static func record(
    _ transaction: Transaction, _ signature: VerifiedSignature, _ nonce: [UInt8],
    _ outcome: Outcome
  ) throws {
    // Two requests with one nonce that lock different rows meet here. The later one is refused.
    let count = try transaction.execute(
      """
      INSERT INTO sync.nonces
        (public_key, nonce, fingerprint, expires_ms, status, headers, body)
      VALUES ($1, $2, $3, $4, $5, $6, $7)
      ON CONFLICT (public_key, nonce) DO NOTHING
      """,
      .blob(signature.keyID.bytes), .blob(nonce), .blob(signature.fingerprint),
      .instant(signature.expires), .integer(Int64(outcome.status)),
      .text(outcome.headerText), .blob(outcome.body))
    guard count == 1 else { throw RequestRefusal.replayed }
  }
}
