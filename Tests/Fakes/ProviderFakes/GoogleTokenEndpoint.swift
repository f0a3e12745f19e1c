import Base
import Crypto
import JSON
import JWS

/// The token endpoint: exchanges an assertion of the service account for an access token.
extension FakePlayStore {
  static let scope = "https://www.googleapis.com/auth/androidpublisher"

  func token(_ request: FakeRequest) -> FakeAnswer {
    let form = GoogleTarget("?" + String(decoding: request.body, as: UTF8.self))
    guard form.values("grant_type") == ["urn:ietf:params:oauth:grant-type:jwt-bearer"] else {
      return Self.refused("unsupported_grant_type", "Invalid grant_type.")
    }
    if let problem = problem(of: form.values("assertion").first ?? "") {
      return Self.refused("invalid_grant", problem)
    }
    let now = clock.now
    let token = state.withLock { state in
      let token = "ya29.c.c0AY_fake\(state.accessTokens.count)-\(settings.seed)"
      state.accessTokens[token] = now + .seconds(3599)
      return token
    }
    return Self.json(
      200, ["access_token": .string(token), "expires_in": 3599, "token_type": "Bearer"])
  }

  /// Makes all access tokens issued so far invalid.
  package func revokeAccessTokens() {
    state.withLock { state in
      for token in state.accessTokens.keys { state.accessTokens[token] = .distantPast }
    }
  }

  /// Google's reason to refuse the assertion; nil if it is valid.
  private func problem(of assertion: String) -> String? {
    guard let jws = try? CompactJWS(Array(assertion.utf8)), let key = settings.serviceKey,
      jws.algorithm == "RS256", key.isValid(signature: jws.signature, for: jws.signingInput),
      let claims = try? JSON.parse(jws.payload)
    else { return "Invalid JWT Signature." }
    guard claims["iss"].string == settings.serviceEmail else {
      return "Not a valid email or user ID."
    }
    guard claims["aud"].string == settings.tokenAudience else { return "Invalid JWT: aud." }
    guard claims["scope"].string == Self.scope else { return "Invalid JWT: scope." }
    let now = clock.now.seconds
    guard let iat = claims["iat"].integer, let exp = claims["exp"].integer, iat <= now + 300,
      now < exp, exp <= iat + 3600
    else {
      return
        "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."
    }
    return nil
  }

  private static func refused(_ error: String, _ description: String) -> FakeAnswer {
    json(400, ["error": .string(error), "error_description": .string(description)])
  }

  // MARK: answers

  static func json(
    _ status: Int, _ value: JSONValue, _ headers: [(name: String, value: String)] = []
  ) -> FakeAnswer {
    FakeAnswer(
      status: status,
      headers: [("Content-Type", "application/json; charset=UTF-8")] + headers,
      body: GoogleText.pretty(value))
  }

  static func error(
    _ code: Int, _ reason: String, _ message: String,
    _ headers: [(name: String, value: String)] = []
  ) -> FakeAnswer {
    let detail: JSONValue = [
      "message": .string(message), "domain": "androidpublisher", "reason": .string(reason),
    ]
    let error: JSONValue = [
      "code": .integer(Int64(code)), "message": .string(message), "errors": .array([detail]),
      "status": .string(statuses[code] ?? "UNKNOWN"),
    ]
    return json(code, ["error": error], headers)
  }

  private static let statuses: [Int: String] = [
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    409: "ABORTED", 410: "FAILED_PRECONDITION", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL",
    503: "UNAVAILABLE",
  ]
}

/// Path and query of a request, decoded; also used for a form.
struct GoogleTarget {
  let segments: [String]
  private let query: [(name: String, value: String)]

  init(_ target: String) {
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    segments = parts[0].split(separator: "/").map(Self.decode)
    query =
      parts.count < 2
      ? []
      : parts[1].split(separator: "&").map { pair in
        let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (Self.decode(halves[0]), halves.count < 2 ? "" : Self.decode(halves[1]))
      }
  }

  func values(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }

  private static func decode(_ text: Substring) -> String {
    PercentEncoding.decode(Array(text.utf8)) ?? ""
  }
}
