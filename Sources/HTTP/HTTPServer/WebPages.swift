internal import HTTPMessages

/// Which web pages may use what lies under `/v1/`. Browsers ask before a page sends a request that no
/// form could send, and show it an answer only where that names the page's origin
/// (https://fetch.spec.whatwg.org/#http-cors-protocol).
///
/// It protects the users of pages, not the server: whoever is no browser does not ask. No answer depends
/// on a cookie, so none is allowed.
package struct WebPages: Sendable {
  private let origins: Set<String>

  /// Origins as browsers write them, e.g. `https://app.example.com`; without any, no page may.
  package init(origins: Set<String>) { self.origins = origins }

  /// Makes the answer, whatever it will be, one that the page may read.
  func mark(_ head: RequestHead) {
    guard concerns(head) else { return }
    // For caches, also where the answer is the same for all.
    head.answerFields.set("Vary", "Origin")
    guard let origin = head.headers.text("origin"), origins.contains(origin) else { return }
    head.answerFields.set("Access-Control-Allow-Origin", origin)
    head.answerFields.set("Access-Control-Expose-Headers", Self.exposed)
  }

  /// The answer to a browser that asks for a page, which is the same for every path: which there are is
  /// told by the request itself. Nil for any other request.
  func permission(for head: RequestHead) throws(Problem) -> Response? {
    guard concerns(head), head.method == "OPTIONS", let origin = head.headers.text("origin"),
      head.headers.text("access-control-request-method") != nil
    else { return nil }
    guard origins.contains(origin) else { throw Self.unknownOrigin }
    return Response(
      status: 204,
      headers: [
        ("Access-Control-Allow-Methods", Self.methods), ("Access-Control-Allow-Headers", Self.sent),
        ("Access-Control-Max-Age", Self.seconds),
      ], body: .bytes([]))
  }

  private func concerns(_ head: RequestHead) -> Bool {
    !origins.isEmpty && head.target.hasPrefix("/v1/")
  }

  private static let methods = "DELETE, GET, HEAD, POST, PUT"
  /// What clients send beside what pages may always send.
  private static let sent =
    "Authorization, Content-Digest, Content-Type, If-Match, If-None-Match, If-Range, Range, "
    + "Signature, Signature-Input, Traceparent"
  /// What clients read beside what pages may always read.
  private static let exposed =
    "Accept-Ranges, Content-Digest, Content-Range, ETag, Location, RateLimit, RateLimit-Policy, "
    + "Retry-After, WWW-Authenticate, X-Request-Id"
  /// As long as Chromium keeps it at most.
  private static let seconds = "7200"

  private static let unknownOrigin = Problem(
    403, "origin_unknown", "Unknown origin",
    "Web pages of this origin may not use the server. The operator can allow the origin.")
}
