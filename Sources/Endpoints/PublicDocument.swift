internal import Base
internal import Crypto
internal import HTTPMessages
package import HTTPServer

/// A document of JSON that anybody may fetch and keep; it changes with the program's start alone.
package enum PublicDocument {
  /// `GET` of `pattern`; `freshSeconds` is how long a cache need not ask again.
  package static func route(_ pattern: String, _ bytes: [UInt8], freshSeconds: Int) -> Route {
    let tag = EntityTag(Hex.encode(SHA256.hash(bytes).prefix(16)))
    return Route("GET", pattern) { head, _ in
      let known = try Preconditions(head.headers).evaluate(current: tag, isSafe: true)
      var headers = [(name: "Cache-Control", value: "public, max-age=\(freshSeconds)")]
      if let tag { headers.append(("ETag", tag.field)) }
      let response: Response
      if known == .notModified {
        response = Response(status: 304, headers: headers, body: .bytes([]))
      } else {
        headers.append(("Content-Type", "application/json"))
        response = Response(status: 200, headers: headers, body: .bytes(bytes))
      }
      return .ready(Admission(body: .none, finish: { _ in .ready(response) }))
    }
  }
}
