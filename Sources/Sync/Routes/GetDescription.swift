internal import Base
internal import Crypto
internal import HTTPMessages
internal import HTTPServer
internal import OpenAPI

/// `GET /openapi.json`: what this API is, for programs; without authentication.
enum GetDescription {
  static let route = Route("GET", "/openapi.json") { head, _ in
    let known = try Preconditions(head.headers).evaluate(current: tag, isSafe: true)
    return .ready(
      Admission(body: .none, finish: { _ in .ready(response(isKnown: known == .notModified)) }))
  }

  /// Changes with the document, not with the program.
  private static let tag = EntityTag(Hex.encode(SHA256.hash(OpenAPI.sync).prefix(16)))

  private static func response(isKnown: Bool) -> Response {
    var headers = [(name: "Cache-Control", value: "public, max-age=3600")]
    if let tag { headers.append(("ETag", tag.field)) }
    guard !isKnown else { return Response(status: 304, headers: headers, body: .bytes([])) }
    headers.append(("Content-Type", "application/json"))
    return Response(status: 200, headers: headers, body: .bytes(OpenAPI.sync))
  }
}
