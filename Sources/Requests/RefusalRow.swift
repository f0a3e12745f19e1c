package import HTTPMessages
package import JSON

/// The HTTP form of a refusal's code: its status and title, and whether the same request may
/// succeed later. In that case the response has a Retry-After.
package struct RefusalRow: Sendable {
  package let status: Int
  package let title: String
  package let isRetryable: Bool

  package init(_ status: Int, _ title: String, isRetryable: Bool = false) {
    self.status = status
    self.title = title
    self.isRetryable = isRetryable
  }

  /// The response that a client sees; `retryAfterSeconds` is used if the row permits another attempt.
  package func problem(
    _ code: String, _ detail: String, members: [JSONValue.Member] = [],
    retryAfterSeconds: Int? = nil
  ) -> Problem {
    // RFC 9110, section 15.5.2: a 401 names at least one scheme.
    let challenge = Problem.Header("WWW-Authenticate", "Bearer realm=\"coffer\"")
    return Problem(
      status, code, title, detail, members: members,
      retryAfterSeconds: isRetryable ? retryAfterSeconds : nil,
      headers: status == 401 ? [challenge] : [])
  }
}
