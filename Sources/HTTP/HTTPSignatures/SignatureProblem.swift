package import HTTPMessages

extension SignatureRefusal {
  /// A signature that does not hold is 401, with the rule it breaks. A digest that cannot be read is 400.
  package var problem: Problem {
    switch self {
    case .missing:
      Problem(
        401, "not_authenticated", "Not authenticated", "Signature or Signature-Input is missing.")
    case .malformed(let rule):
      Problem(401, "signature_malformed", "Signature malformed", rule)
    case .unknownAlgorithm:
      Problem(401, "algorithm_unknown", "Algorithm unknown", "alg must be \"ed25519\".")
    case .componentsMissing(let names):
      Problem(
        401, "components_missing", "Components missing",
        "The signature must also cover: \(names.joined(separator: ", ")).")
    case .componentAbsent(let name):
      Problem(
        401, "component_absent", "Component absent",
        "The signature covers \(name), which the request does not have.")
    case .componentUnsupported(let name):
      Problem(
        401, "component_unsupported", "Component unsupported",
        "\(name) cannot be covered by a request's signature here.")
    case .wrongAuthority(let expected):
      Problem(
        401, "wrong_host", "Wrong host",
        "This server does not answer for this Host. It expects: \(expected.joined(separator: ", "))."
      )
    case .notYetValid:
      Problem(
        401, "signature_not_yet_valid", "Signature from the future",
        "created is in the future. Set the device's clock.")
    case .expired:
      Problem(401, "signature_expired", "Signature expired", "Sign the request again.")
    case .lifetimeTooLong:
      Problem(
        401, "signature_lifetime", "Signature lifetime",
        "expires must be 1 to 300 seconds after created.")
    case .nonceMissing:
      Problem(
        401, "nonce_missing", "Nonce missing",
        "A nonce has 8 to 64 characters, and a request that may change something needs one.")
    case .badKey:
      Problem(
        401, "key_malformed", "Key malformed", "keyid must be the base64 of an Ed25519 public key.")
    case .badSignature(let authority):
      Problem(
        401, "bad_signature", "Bad signature",
        "The signature does not match the request. Check what was signed: @authority is "
          + "\"\(authority)\" here, @query begins with \"?\", and Content-Digest is the field as sent."
      )
    case .digestMissing:
      Problem(
        401, "digest_missing", "Content-Digest missing",
        "A request with a body needs a Content-Digest that its signature covers.")
    case .digestUnsupported:
      Problem(
        400, "digest_unsupported", "Content-Digest unsupported",
        "Content-Digest must hold sha-256 or sha-512 (RFC 9530).")
    case .digestMalformed:
      Problem(
        400, "digest_malformed", "Content-Digest malformed", "Content-Digest breaks RFC 9530.")
    }
  }
}
