package import Base
package import Crypto
package import HTTPMessages

/// A request's signature that holds: only `verify` makes one.
///
/// It proves that the holder of the key asked for exactly this method, host, path and query, and a
/// body with this digest. It does not prove that the key belongs to an account, that the nonce is
/// new, or, until the digest has been compared, that the body is the right one.
package struct VerifiedSignature: Sendable {
  /// The public key, which is the signature's `keyid` itself.
  package let keyID: Ed25519PublicKey
  /// The bytes of the nonce's text.
  package let nonce: [UInt8]?
  package let created: Instant
  package let expires: Instant
  /// SHA-256 of the whole signature base: two requests that differ in anything covered, or in any
  /// parameter, differ here.
  package let fingerprint: [UInt8]
  /// What the body must match; nil where there is no body.
  package let contentDigest: ContentDigest?

  fileprivate init(
    _ input: SignatureInput, fingerprint: [UInt8], contentDigest: ContentDigest?
  ) {
    keyID = input.key
    nonce = input.nonce
    created = input.created
    expires = input.expires
    self.fingerprint = fingerprint
    self.contentDigest = contentDigest
  }
}

/// Checks a request's signature before its body is read (RFC 9421, section 3.2, and our policy).
///
/// Cheap checks come first, so that a flood of stale or foreign requests costs no curve arithmetic.
package func verify(
  _ head: RequestHead, policy: SignaturePolicy, now: Instant
) throws(SignatureRefusal) -> VerifiedSignature {
  let input = try SignatureInput(head)
  try input.requireComponents(of: head)
  guard policy.authorities.contains(head.normalAuthority) else {
    throw .wrongAuthority(expected: policy.authorities.sorted())
  }
  try input.requireTime(policy, now: now)
  guard input.nonce != nil || head.isSafe else { throw .nonceMissing }
  var digest: ContentDigest?
  if input.covers("content-digest") {
    guard let field = head.headers.combined("content-digest") else { throw .digestMissing }
    digest = try ContentDigest.parse(field)
  }
  let base = try SignatureBase(covering: input.list, of: head, kinds: policy.fieldKinds)
  guard input.key.isValid(signature: input.signature, for: base.bytes) else {
    throw .badSignature(authority: head.normalAuthority)
  }
  return VerifiedSignature(
    input, fingerprint: SHA256.hash(base.bytes), contentDigest: digest)
}

/// The key by which a request says that it is signed; whether it is, nobody has checked.
package func claimedKey(of head: RequestHead) -> Ed25519PublicKey? {
  try? SignatureInput(head).key
}
