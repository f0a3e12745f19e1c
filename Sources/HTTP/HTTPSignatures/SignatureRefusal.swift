/// The reason why a request's signature is refused. Every case is the caller's fault, and none is secret.
package enum SignatureRefusal: Error, Sendable, Equatable {
  case missing
  /// The signature's headers violate RFC 9421, RFC 8941 or this server's narrower rules; the text says where.
  case malformed(String)
  case unknownAlgorithm
  /// The components that a signature must cover here and this one does not.
  case componentsMissing([String])
  case componentAbsent(String)
  /// A covered component, or a parameter of one, that no request signature can have here.
  case componentUnsupported(String)
  /// The request is for a host that is not one of `expected`; perhaps its signature was made for another server.
  case wrongAuthority(expected: [String])
  case notYetValid
  case expired
  /// Valid for longer than the policy allows, or not valid at any time.
  case lifetimeTooLong
  /// A nonce has 8 to 64 bytes, and a method that may change something needs one.
  case nonceMissing
  /// The key identifier is not the base64 of an Ed25519 public key.
  case badKey
  /// The signature does not match this key and this request, which was sent to `authority`.
  case badSignature(authority: String)
  case digestMissing
  /// The Content-Digest has neither sha-256 nor sha-512.
  case digestUnsupported
  case digestMalformed
}
