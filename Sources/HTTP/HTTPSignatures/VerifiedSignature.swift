package import Base
package import Crypto
package import HTTPMessages

/// A request's valid signature, which only `verify` creates.
///
/// It proves that the holder of the key asked for exactly this method, host, path and query, and a body with this
/// digest. It proves neither that the key belongs to an account, nor that the nonce is new, nor, before the digest has
/// been compared, that the body is the right one.
package struct VerifiedSignature: Sendable {
  /// The public key, which the signature's `keyid` contains.
  package let keyID: Ed25519PublicKey
  /// The bytes of the nonce's text.
  package let nonce: [UInt8]?
  package let created: Instant
  package let expires: Instant
  /// SHA-256 of the signature base: two requests that differ in anything covered have different ones.
  package let fingerprint: [UInt8]
  /// The digest that the body must match; nil if there is no body.
  package let contentDigest: ContentDigest?
  private let covered: StructuredField.InnerList

  fileprivate init(_ input: SignatureInput, fingerprint: [UInt8], contentDigest: ContentDigest?) {
    keyID = input.key
    nonce = input.nonce
    created = input.created
    expires = input.expires
    self.fingerprint = fingerprint
    self.contentDigest = contentDigest
    covered = input.list
  }

  /// Refuses a signature that leaves open one of the fields, each in lower case.
  package func require(_ fields: [String]) throws(SignatureRefusal) {
    let missing = fields.filter { !SignatureInput.covers($0, covered) }
    guard missing.isEmpty else { throw .componentsMissing(missing) }
  }
}

/// Checks a request's signature before its body is read (RFC 9421, section 3.2, and the policy).
///
/// Cheap checks come first, so that a flood of expired or misdirected requests costs no curve arithmetic.
package func verify(
  _ head: RequestHead, policy: SignaturePolicy, now: Instant
) throws(SignatureRefusal) -> VerifiedSignature {
  let input = try SignatureInput(head)
  try input.requireComponents(of: head)
  guard policy.authorities.contains(head.normalAuthority) else {
    throw .wrongAuthority(expected: policy.authorities.sorted())
  }
  try input.requireTime(now: now)
  guard input.nonce != nil || head.isSafe else { throw .nonceMissing }
  var digest: ContentDigest?
  if input.covers("content-digest") {
    guard let field = head.headers.combined("content-digest") else { throw .digestMissing }
    digest = try ContentDigest.parse(field)
  }
  let base = try SignatureBase(covering: input.list, of: head)
  guard input.key.isValid(signature: input.signature, for: base.bytes) else {
    throw .badSignature(authority: head.normalAuthority)
  }
  return VerifiedSignature(input, fingerprint: SHA256.hash(base.bytes), contentDigest: digest)
}

/// The key that a request claims to be signed with. The signature is not verified.
package func claimedKey(of head: RequestHead) -> Ed25519PublicKey? {
  try? SignatureInput(head).key
}
