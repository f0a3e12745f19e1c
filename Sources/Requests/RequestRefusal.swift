import Endpoints
package import HTTPMessages
package import HTTPSignatures
import JSON

/// A refusal that any request of an account can get, whatever it asks for.
package enum RequestRefusal: AnswerableError, Equatable {
  case notAuthenticated
  case signature(SignatureRefusal)
  case unknownKey
  case revokedKey
  case recoveryKey
  case unknownSession
  case rateLimited(retryAfterSeconds: Int)
  case addressRefused(retryAfterSeconds: Int)
  case replayed
  case signatureRequired
  case digestMismatch
  case bodyInvalid([BodyError])
  case limitInvalid(max: Int)

  package static func bodyInvalid(path: String, rule: String) -> RequestRefusal {
    .bodyInvalid([BodyError(path: path, rule: rule)])
  }

  /// Whether the refused request came from no known caller.
  package var isOfStranger: Bool {
    switch self {
    case .notAuthenticated, .signature, .unknownKey, .revokedKey, .unknownSession: true
    default: false
    }
  }
}

/// A place in a body and the rule it breaks.
package struct BodyError: Equatable, Sendable {
  package let path: String
  package let rule: String

  package init(path: String, rule: String) {
    self.path = path
    self.rule = rule
  }
}

extension RequestRefusal {
  /// The response to the client. An invalid signature has the codes of `HTTPSignatures`, all of them 400 or
  /// 401.
  package var problem: Problem {
    switch self {
    case .notAuthenticated:
      Problem(
        401, "not_authenticated", "Not authenticated",
        "Sign the request (RFC 9421) or send the bearer token of a session.")
    case .signature(let refusal): refusal.problem
    case .unknownKey:
      Problem(401, "unknown_key", "Unknown key", "No account has registered this key.")
    case .revokedKey:
      Problem(401, "revoked_key", "Key revoked", "This key was revoked by its account.")
    case .recoveryKey:
      Problem(
        401, "recovery_key", "Recovery key",
        "This is a recovery key. It asks by POST /v1/recovery, and then reads the key backup, "
          + "and nothing else.")
    case .unknownSession:
      Problem(
        401, "session_invalid", "Session invalid",
        "The session has expired, was revoked or never existed. Create another one.")
    case .rateLimited(let seconds):
      Problem(
        429, "rate_limited", "Too many requests",
        "The account has used its requests for now. Nothing was done; RateLimit-Policy says "
          + "how many there are.", retryAfterSeconds: seconds)
    case .addressRefused(let seconds):
      Problem(
        429, "too_many_refusals", "Too many refused requests",
        "Too many unauthenticated requests from this address; try again later. Those of keys "
          + "and sessions that have been used here lately are served.", retryAfterSeconds: seconds)
    case .replayed:
      Problem(
        401, "replayed", "Nonce already used",
        "This nonce was used before. Sign again with a new one.")
    case .signatureRequired:
      Problem(
        401, "signature_required", "Signature required",
        "This request must be signed by a device key; a session token is not enough.")
    case .digestMismatch:
      Problem(
        400, "digest_mismatch", "Content-Digest mismatch",
        "The body does not match its Content-Digest. Nothing was stored.")
    case .bodyInvalid(let errors):
      Problem(
        400, "body_invalid", "Body invalid",
        errors.first.map { "\($0.path): \($0.rule)" } ?? "The body is not valid.",
        members: [
          .init("path", .string(errors.first?.path ?? "$")),
          .init(
            "errors", .array(errors.map { ["path": .string($0.path), "rule": .string($0.rule)] })),
        ])
    case .limitInvalid(let max):
      Problem(400, "limit_invalid", "Limit invalid", "limit must be a number from 1 to \(max).")
    }
  }
}
