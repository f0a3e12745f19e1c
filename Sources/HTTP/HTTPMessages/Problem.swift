package import JSON

/// A refusal in the form of RFC 9457: a stable code for programs and a sentence for people.
///
/// The sentence never holds a secret, another account's data or the text of an internal error.
package struct Problem: Error, Sendable, Equatable {
  package let status: Int
  /// The stable code, e.g. `signature_expired`; the type URI is `urn:coffer:problem:` and the code.
  package let code: String
  package let title: String
  package let detail: String
  /// Members in addition to the standard ones (RFC 9457, section 3.2).
  package var members: [JSONValue.Member]
  /// How long a client should wait before it tries again, in seconds.
  package var retryAfterSeconds: Int?
  /// Headers that the status requires, such as `Allow` or `WWW-Authenticate`.
  package var headers: [Header]
  /// What the client gets in place of RFC 9457's object, if it speaks a protocol with refusals of its own.
  package let body: Body?

  /// A body in another protocol's form.
  package struct Body: Sendable, Equatable {
    package let contentType: String
    package let bytes: [UInt8]

    package init(_ contentType: String, _ bytes: [UInt8]) {
      self.contentType = contentType
      self.bytes = bytes
    }
  }

  package struct Header: Sendable, Equatable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  package static let notFound = Problem(
    404, "not_found", "Not found", "No resource exists at this path.")

  /// A 401 names at least one scheme (RFC 9110, section 15.5.2).
  private static let challenge = Header("WWW-Authenticate", "Bearer realm=\"coffer\"")

  package init(
    _ status: Int, _ code: String, _ title: String, _ detail: String,
    members: [JSONValue.Member] = [], retryAfterSeconds: Int? = nil, headers: [Header] = [],
    body: Body? = nil
  ) {
    self.status = status
    self.code = code
    self.title = title
    self.detail = detail
    self.members = members
    self.retryAfterSeconds = retryAfterSeconds
    self.headers = status == 401 && headers.isEmpty ? [Self.challenge] : headers
    self.body = body
  }

  /// The response, with the request's id, so that a user's report leads to its log line.
  package func response(requestID: String) -> Response {
    let body = body ?? object(requestID: requestID)
    var headers: [(name: String, value: String)] = [("Content-Type", body.contentType)]
    if let retryAfterSeconds { headers.append(("Retry-After", String(retryAfterSeconds))) }
    headers += self.headers.map { ($0.name, $0.value) }
    return Response(status: status, headers: headers, body: .bytes(body.bytes))
  }

  private func object(requestID: String) -> Body {
    var object: [JSONValue.Member] = [
      .init("type", .string("urn:coffer:problem:" + code)), .init("title", .string(title)),
      .init("status", .integer(Int64(status))), .init("detail", .string(detail)),
      .init("instance", .string("urn:coffer:request:" + requestID)),
    ]
    object += members
    return Body("application/problem+json", JSONValue.object(object).encoded())
  }
}
