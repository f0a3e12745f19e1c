package import Base
import HTTPClient

/// Sends requests with libcurl. Reads use connections that are kept open; every other request its own, once.
package final class CurlTransport: ProviderTransport {
  /// No read of one object is longer; lists are paged.
  package static let bodyByteCountMax = 4 << 20

  private let client = HTTPClient(bodyByteCountMax: CurlTransport.bodyByteCountMax)
  private let deadline: Instant.Span

  /// `deadline` bounds each exchange as a whole, connecting included.
  package init(deadline: Instant.Span = .seconds(10)) { self.deadline = deadline }

  package func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let began = MonotonicTime.now()
    let trace = TraceContext.current.map { [("traceparent", $0.traceparent)] } ?? []
    let reply: HTTPClient.Reply
    do {
      reply = try client.send(
        request.method, request.url, headers: request.headers + trace, body: request.body,
        timeout: deadline)
    } catch {
      throw Self.failure(error)
    }
    let nanoseconds = MonotonicTime.now().nanoseconds - began.nanoseconds
    let answer = APIReply(
      status: reply.status, headers: reply.headers, body: reply.body,
      elapsed: .milliseconds(Int64((nanoseconds + 999_999) / 1_000_000)))
    if let failure = answer.transientFailure { throw failure }
    return answer
  }

  /// The client's texts are constants and name neither address nor header.
  private static func failure(_ error: HTTPClientError) -> APIFailure {
    switch error {
    case .connect, .timeout, .tls, .failed: .transient(error.description, retryAfter: nil)
    case .tooLarge: .malformed(error.description)
    case .invalidRequest: .misconfigured(error.description)
    }
  }
}
