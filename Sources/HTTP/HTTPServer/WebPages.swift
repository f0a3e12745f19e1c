import HTTPMessages

/// The web pages that may use the paths under `/v1/`. Browsers ask before a page sends more than a form could, and show
/// a page only a response that names its origin (https://fetch.spec.whatwg.org/#http-cors-protocol).
///
/// This protects the users of pages, not the server. No response depends on a cookie, so none is allowed.
package struct WebPages: Sendable {
  private let origins: Set<String>
  private let elsewhere: Hosts?

  /// Hosts of their own, with pages that may use every path there.
  package struct Hosts: Sendable {
    let authorities: Set<String>
    let origins: Set<String>
    let sent: String
    let exposed: String

    /// `sent` and `exposed` are the headers that clients send and read, besides those that pages always may.
    package init(authorities: Set<String>, origins: Set<String>, sent: String, exposed: String) {
      self.authorities = authorities
      self.origins = origins
      self.sent = sent
      self.exposed = exposed
    }
  }

  /// Origins as browsers write them, e.g. `https://app.example.com`. If there are none, no page may use the server.
  package init(origins: Set<String>, elsewhere: Hosts? = nil) {
    self.origins = origins
    self.elsewhere = elsewhere
  }

  /// The pages that may use the request's host and path, and the headers; nil if none may.
  private func rule(_ head: RequestHead) -> (origins: Set<String>, sent: String, exposed: String)? {
    if let elsewhere, elsewhere.authorities.contains(head.authority) {
      return elsewhere.origins.isEmpty
        ? nil : (elsewhere.origins, elsewhere.sent, elsewhere.exposed)
    }
    guard !origins.isEmpty, head.target.hasPrefix("/v1/") else { return nil }
    return (origins, Self.sent, Self.exposed)
  }

  /// Makes the response, whatever it will be, readable for the page.
  func mark(_ head: RequestHead) {
    guard let (origins, _, exposed) = rule(head) else { return }
    // For caches, even if the response is the same for all.
    head.answerFields.set("Vary", "Origin")
    guard let origin = head.headers.text("origin"), origins.contains(origin) else { return }
    head.answerFields.set("Access-Control-Allow-Origin", origin)
    head.answerFields.set("Access-Control-Expose-Headers", exposed)
  }

  /// The response to a browser that asks on behalf of a page, the same for every path. Nil for any other request.
  func permission(for head: RequestHead) throws(Problem) -> Response? {
    guard let (origins, sent, _) = rule(head), head.method == "OPTIONS",
      let origin = head.headers.text("origin"),
      head.headers.text("access-control-request-method") != nil
    else { return nil }
    guard origins.contains(origin) else { throw Self.unknownOrigin }
    return Response(
      status: 204,
      headers: [
        ("Access-Control-Allow-Methods", Self.methods), ("Access-Control-Allow-Headers", sent),
        ("Access-Control-Max-Age", Self.seconds),
      ], body: .bytes([]))
  }

  private static let methods = "DELETE, GET, HEAD, PATCH, POST, PUT"
  /// The headers that clients send, besides those that pages may always send.
  private static let sent =
    "Authorization, Content-Digest, Content-Type, If-Match, If-None-Match, If-Range, Range, "
    + "Repr-Digest, Signature, Signature-Input, Traceparent, Tus-Resumable, Upload-Complete, "
    + "Upload-Draft-Interop-Version, Upload-Incomplete, Upload-Length, Upload-Metadata, Upload-Offset"
  /// The headers that clients read, besides those that pages may always read.
  private static let exposed =
    "Accept-Ranges, Content-Digest, Content-Range, ETag, Location, RateLimit, RateLimit-Policy, "
    + "Retry-After, Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version, Upload-Complete, "
    + "Upload-Draft-Interop-Version, Upload-Expires, Upload-Incomplete, Upload-Length, Upload-Limit, "
    + "Upload-Offset, WWW-Authenticate, X-Request-Id"
  /// The longest time for which Chromium keeps the permission.
  private static let seconds = "7200"

  private static let unknownOrigin = Problem(
    403, "origin_unknown", "Unknown origin",
    "Web pages of this origin may not use the server. The operator can allow the origin.")
}
