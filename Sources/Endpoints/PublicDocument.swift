import Base
import Crypto
package import HTTPMessages
package import HTTPServer

/// A JSON document that anyone may fetch and keep.
package struct PublicDocument: Sendable {
  private let bytes: [UInt8]
  private let tag: EntityTag?

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
    tag = EntityTag(Hex.encode(SHA256.hash(bytes).prefix(16)))
  }

  /// A `GET` of a document that only a restart changes. A cache need not ask again for `freshSeconds`.
  package static func route(_ pattern: String, _ bytes: [UInt8], freshSeconds: Int) -> Route {
    let document = PublicDocument(bytes)
    return Route("GET", pattern) { head, _ in
      let response = try document.response(to: head, caching: "public, max-age=\(freshSeconds)")
      return .ready(Admission(body: .none, finish: { _ in .ready(response) }))
    }
  }

  /// The response, without the document if the client has it; `caching` states what may be done with a copy.
  package func response(to head: RequestHead, caching: String) throws -> Response {
    var headers = [(name: "Cache-Control", value: caching)]
    if let tag { headers.append(("ETag", tag.field)) }
    if let known = try Response.known(.bytes(bytes), tag, to: head, headers: headers) {
      return known
    }
    headers.append(("Content-Type", "application/json"))
    return Response(status: 200, headers: headers, body: .bytes(bytes))
  }
}

extension Response {
  /// 304 if the client has the content of `tag`, else nil. If-Match is ignored: no request changes it.
  static func known(
    _ body: Body, _ tag: EntityTag?, to head: RequestHead,
    headers: [(name: String, value: String)]
  ) throws -> Response? {
    let outcome = try Preconditions(head.headers).evaluate(current: tag, isSafe: true)
    return outcome == .notModified ? .notModified(body, headers: headers) : nil
  }
}
