package import Base
package import HTTPMessages

/// An answer of a provider's API.
package struct APIReply: Sendable {
  package let status: Int
  package let headers: Headers
  package let body: [UInt8]
  /// The `Date` header, which is the provider's own clock; nil if it is missing or malformed.
  package let date: Instant?
  /// How long the exchange took, rounded up: the object was read at `date - elapsed` or later.
  package let elapsed: Instant.Span

  package init(status: Int, headers: Headers, body: [UInt8], elapsed: Instant.Span) {
    self.status = status
    self.headers = headers
    self.body = body
    self.elapsed = elapsed
    date = headers.text("date").flatMap { Instant(httpDate: $0) }
  }

  /// Returns the reply if it is 2xx. Otherwise throws what the status means, if the body says nothing better.
  package func successful() throws(APIFailure) -> APIReply {
    switch status {
    case 200..<300: return self
    case 401, 403: throw .misconfigured("the provider answers \(status)")
    case 404: throw .notFound
    case 410: throw .gone
    default:
      if let failure = transientFailure { throw failure }
      throw .refused(status: status, "the provider answers \(status)")
    }
  }

  /// The failure of a status that has nothing to do with the request: 408, 429, 5xx.
  package var transientFailure: APIFailure? {
    guard status == 408 || status == 429 || status >= 500 else { return nil }
    if headers.text("idempotent-replayed") == "true" { return .replayed }
    return .transient("the provider answers \(status)", retryAfter: retryAfter)
  }

  /// How long the provider wants no further requests (RFC 9110, section 10.2.3); nil if it does not say so intelligibly.
  ///
  /// It says so in seconds, as a date, or, some stores, in milliseconds since 1970. The latter two count from `date`.
  package var retryAfter: Instant.Span? {
    guard let text = headers.text("retry-after") else { return nil }
    if let end = Instant(httpDate: text) { return remaining(until: end) }
    guard text.utf8.count <= 15, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
      let number = Int64(text)
    else { return nil }
    // No provider asks for a wait of 3,000 years: such a number is a moment, not a span.
    if number >= 100_000_000_000 { return remaining(until: Instant(milliseconds: number)) }
    return .seconds(number)
  }

  private func remaining(until end: Instant) -> Instant.Span? {
    date.map { max(end - $0, .seconds(0)) }
  }
}
