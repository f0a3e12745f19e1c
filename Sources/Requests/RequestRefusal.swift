internal import Endpoints
package import HTTPMessages
package import HTTPSignatures
internal import JSON

/// A refusal that any request of an account can get, whatever it asks for.
package enum RequestRefusal: AnswerableError, Equatable {
  case notAuthenticated
  case signature(SignatureRefusal)
  case unknownKey
  case revokedKey
  case unknownSession
  case rateLimited(retryAfterSeconds: Int)
  case addressRefused(retryAfterSeconds: Int)
  case replayed
  case signatureRequired
  case digestMismatch
  case bodyInvalid([BodyError])

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
  /// The codes and their HTTP form. A signature that does not hold has the codes of
  /// `HTTPSignatures`, all of them 400 or 401.
  package enum Code: String, CaseIterable {
    case notAuthenticated = "not_authenticated"
    case unknownKey = "unknown_key"
    case revokedKey = "revoked_key"
    case unknownSession = "session_invalid"
    case rateLimited = "rate_limited"
    case addressRefused = "too_many_refusals"
    case replayed = "replayed"
    case signatureRequired = "signature_required"
    case digestMismatch = "digest_mismatch"
    case bodyInvalid = "body_invalid"

    package var row: RefusalRow {
      switch self {
      case .notAuthenticated: RefusalRow(401, "Not authenticated")
      case .unknownKey: RefusalRow(401, "Unknown key")
      case .revokedKey: RefusalRow(401, "Key revoked")
      case .unknownSession: RefusalRow(401, "Session invalid")
      case .rateLimited: RefusalRow(429, "Too many requests", isRetryable: true)
      case .addressRefused: RefusalRow(429, "Too many refused requests", isRetryable: true)
      case .replayed: RefusalRow(401, "Nonce already used")
      case .signatureRequired: RefusalRow(401, "Signature required")
      case .digestMismatch: RefusalRow(400, "Content-Digest mismatch")
      case .bodyInvalid: RefusalRow(400, "Body invalid")
      }
    }
  }

  /// The response that a client sees.
  package var problem: Problem {
    switch self {
    case .notAuthenticated:
      return problem(
        .notAuthenticated, "Sign the request (RFC 9421) or send the bearer token of a session.")
    case .signature(let refusal): return refusal.problem
    case .unknownKey: return problem(.unknownKey, "No account has registered this key.")
    case .revokedKey: return problem(.revokedKey, "This key was revoked by its account.")
    case .unknownSession:
      return problem(
        .unknownSession,
        "The session has expired, was revoked or never existed. Create another one.")
    case .rateLimited(let seconds):
      return problem(
        .rateLimited,
        "The account has used its requests for now. Nothing was done; RateLimit-Policy says "
          + "how many there are.",
        retryAfterSeconds: seconds)
    case .addressRefused(let seconds):
      return problem(
        .addressRefused,
        "Too many unauthenticated requests from this address; try again later. Those of keys "
          + "and sessions that have been used here lately are served.",
        retryAfterSeconds: seconds)
    case .replayed:
      return problem(.replayed, "This nonce was used before. Sign again with a new one.")
    case .signatureRequired:
      return problem(
        .signatureRequired,
        "This request must be signed by a device key; a session token is not enough.")
    case .digestMismatch:
      return problem(
        .digestMismatch,
        "The body does not match its Content-Digest. Nothing was stored.")
    case .bodyInvalid(let errors):
      let places = errors.map { error -> JSONValue in
        ["path": .string(error.path), "rule": .string(error.rule)]
      }
      return problem(
        .bodyInvalid,
        errors.first.map { "\($0.path): \($0.rule)" } ?? "The body is not valid.",
        members: [
          .init("path", .string(errors.first?.path ?? "$")), .init("errors", .array(places)),
        ])
    }
  }

  private func problem(
    _ code: Code, _ detail: String, members: [JSONValue.Member] = [],
    retryAfterSeconds: Int? = nil
  ) -> Problem {
    code.row.problem(
      code.rawValue, detail, members: members, retryAfterSeconds: retryAfterSeconds)
  }
}
