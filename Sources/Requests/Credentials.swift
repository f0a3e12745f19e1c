package import Base
import Crypto
import HTTPMessages
package import HTTPSignatures

/// The identity that a caller claims, and the meter of its request.
package struct Credentials: Sendable {
  /// The proof of identity, as far as the headers alone show it.
  package enum Proof: Sendable {
    /// A valid signature, by a key that may or may not belong to an account.
    case signed(VerifiedSignature)
    /// The hash of a bearer token. Only the hash is ever stored.
    case session(tokenHash: [UInt8])
    /// The key that signed an earlier request, which this one continues.
    case key([UInt8])
    /// The hash of a token that an app got for a password of the account. Only requests of apps have one.
    case app(tokenHash: [UInt8])

    /// Nil for a request that is signed itself.
    package var tokenHash: [UInt8]? {
      guard case .session(let tokenHash) = self else { return nil }
      return tokenHash
    }

    /// Identifies the caller as long as its account is not known.
    package var key: [UInt8] {
      switch self {
      case .signed(let signature): signature.keyID.bytes
      case .session(let tokenHash), .app(let tokenHash): tokenHash
      case .key(let publicKey): publicKey
      }
    }
  }

  package let proof: Proof
  package let meter: RequestMeter

  package init(proof: Proof, meter: RequestMeter) {
    self.proof = proof
    self.meter = meter
  }

  /// The hash by which the database identifies a session.
  package static func hash(token: [UInt8]) -> [UInt8] { SHA256.hash(token) }

  /// The lane in which a request takes its turn under load.
  package var lane: Identifier? { Identifier(bytes: proof.key.prefix(16)) }

  package func requireSignature() throws(RequestRefusal) -> VerifiedSignature {
    guard case .signed(let signature) = proof else { throw .signatureRequired }
    return signature
  }
}

/// Reads credentials from a request's headers, before the first byte of its body.
package struct Authenticator: Sendable {
  let policy: SignaturePolicy
  let clock: Clock
  package let signatures = SignatureCounter()

  package init(policy: SignaturePolicy, clock: Clock) {
    self.policy = policy
    self.clock = clock
  }

  /// The key that would identify the caller if its proof held. Only its form is checked.
  func claimedKey(_ head: RequestHead) -> [UInt8]? {
    if let token = bearerToken(head) { return Credentials.hash(token: token) }
    return HTTPSignatures.claimedKey(of: head)?.bytes
  }

  func proof(_ head: RequestHead) throws(RequestRefusal) -> Credentials.Proof {
    if let token = bearerToken(head) {
      return .session(tokenHash: Credentials.hash(token: token))
    }
    guard head.headers.combined("signature-input") != nil else { throw .notAuthenticated }
    return .signed(try signature(head))
  }

  func signature(_ head: RequestHead) throws(RequestRefusal) -> VerifiedSignature {
    do throws(SignatureRefusal) {
      let signature = try verify(head, policy: policy, now: clock.now())
      signatures.countRequest()
      return signature
    } catch {
      if case .badSignature = error { signatures.countRequest() }
      throw .signature(error)
    }
  }

  private func bearerToken(_ head: RequestHead) -> [UInt8]? {
    guard let value = head.headers.text("authorization"), value.prefix(7).lowercased() == "bearer "
    else { return nil }
    return Array(value.dropFirst(7).utf8)
  }
}
