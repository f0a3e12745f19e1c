package import Base

/// The part of a request before its body.
///
/// The server creates one only for a request that passed its strict header rules (`HeaderSection`).
package struct RequestHead: Sendable {
  package let method: String
  /// The raw request target, exactly as on the wire: `/v1/updates?since=x`.
  package let target: String
  package let headers: Headers
  /// The value of the Host field, in lower case.
  package let authority: String
  /// The scheme that the client used, as a trusted proxy reports it; otherwise `http`.
  package let scheme: String
  /// The client's address: the peer's, or the one that a trusted proxy reports.
  package let remoteAddress: String
  /// Identifies this request in responses and log lines.
  package let requestID: String
  /// The time when the head was complete.
  package let received: MonotonicTime
  /// Fields that the response to this request carries in addition to its own.
  package let answerFields = AnswerFields()

  package init(
    method: String, target: String, headers: Headers, authority: String, scheme: String = "http",
    remoteAddress: String = "127.0.0.1", requestID: String = "", received: MonotonicTime = .now()
  ) {
    self.method = method
    self.target = target
    self.headers = headers
    self.authority = authority
    self.scheme = scheme
    self.remoteAddress = remoteAddress
    self.requestID = requestID
    self.received = received
  }

  /// The target up to its first `?`, not decoded.
  package var path: Substring { target[..<(questionMark ?? target.endIndex)] }

  /// The text after the first `?`, not decoded; nil if there is none.
  package var query: Substring? {
    questionMark.map { target[target.utf8.index(after: $0)...] }
  }

  private var questionMark: String.Index? { target.utf8.firstIndex(of: UInt8(ascii: "?")) }

  /// The trace that the client gives; nil if it gives none or a malformed one.
  package var trace: TraceContext? { headers.text("traceparent").flatMap { TraceContext($0) } }

  /// The declared body length; nil if there is no Content-Length (a chunked body, or none).
  package var contentLength: Int64? {
    headers.text("content-length").flatMap { Int64($0) }
  }

  /// Whether the method changes nothing (RFC 9110, section 9.2.1).
  package var isSafe: Bool { method == "GET" || method == "HEAD" }
}
