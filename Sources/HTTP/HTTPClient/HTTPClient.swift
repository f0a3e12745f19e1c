package import Base
package import HTTPMessages

/// An HTTP client on libcurl: TLS is verified, redirects are not followed, all sizes and times are limited.
///
/// A call blocks its thread until the reply is complete or the timeout has passed. Calls from several threads
/// run in parallel, each on its own handle; handles and their connections are reused. Only GET and HEAD,
/// which change nothing, use a connection that has served before, and so do requests that are declared
/// repeatable. They may be sent again if that connection ends without an answer. Any other request is sent once.
package final class HTTPClient: Sendable {
  package struct Reply: Sendable {
    package let status: Int
    package let headers: Headers
    package let body: [UInt8]
  }

  private static let idleCountMax = 8

  private let bodyByteCountMax: Int
  private let idle = Locked<[Transfer]>([])

  private let authorityFile: String?

  /// Refuses replies with a longer body. `authorityFile` (PEM) has the servers' authorities; nil: the system's.
  package init(bodyByteCountMax: Int = 1 << 20, authorityFile: String? = nil) {
    self.bodyByteCountMax = bodyByteCountMax
    self.authorityFile = authorityFile
  }

  /// Sends one request. Any status is a reply; an error means that there was no reply.
  ///
  /// `timeout` limits the whole call. Names and values of headers must not contain line breaks (`.invalidRequest`).
  package func send(
    _ method: String, _ url: String, headers: [(String, String)] = [], body: [UInt8]? = nil,
    timeout: Instant.Span
  ) throws(HTTPClientError) -> Reply {
    try send(
      method, url, headers, body.map { .bytes($0) }, timeout: timeout,
      isRepeatable: ["GET", "HEAD"].contains(method), noticesStall: false)
  }

  /// The body of a request.
  package enum Body: Sendable {
    case bytes([UInt8])
    /// Sent from the file, once the server has agreed or has been silent for 300 ms (`Expect: 100-continue`).
    case file(OpenFile, range: Range<Int64>)
  }

  /// Sends a request that may take effect twice without harm, on any connection. It ends (`.timeout`) if it has moved
  /// less than 1 KiB a second for 20 seconds.
  package func sendRepeatable(
    _ method: String, _ url: String, headers: [(String, String)], body: Body?, timeout: Instant.Span
  ) throws(HTTPClientError) -> Reply {
    try send(method, url, headers, body, timeout: timeout, isRepeatable: true, noticesStall: true)
  }

  /// Sends a GET. If events answer it (`text/event-stream`), `take` gets them as they arrive, and the reply has no body.
  ///
  /// Lasts until the server ends the events or `take` returns false. `timeout` limits name lookup and connecting.
  package func follow(
    _ url: String, headers: [(String, String)], timeout: Instant.Span,
    _ take: @escaping ([UInt8]) -> Bool
  ) throws(HTTPClientError) -> Reply {
    try send(
      "GET", url, headers, nil, timeout: timeout, isRepeatable: true, noticesStall: false,
      takeEvents: take)
  }

  private func send(
    _ method: String, _ url: String, _ headers: [(String, String)], _ body: Body?,
    timeout: Instant.Span, isRepeatable: Bool, noticesStall: Bool,
    takeEvents: (([UInt8]) -> Bool)? = nil
  ) throws(HTTPClientError) -> Reply {
    guard !method.isEmpty, Self.isClean(method), Self.isClean(url),
      headers.allSatisfy({ !$0.0.isEmpty && Self.isClean($0.0) && Self.isClean($0.1) })
    else { throw .invalidRequest }
    guard let transfer = idle.withLock({ $0.popLast() }) ?? Transfer() else {
      throw .failed("libcurl could not be initialised")
    }
    defer {
      idle.withLock { idle in
        if idle.count < Self.idleCountMax { idle.append(transfer) }
      }
    }
    return try transfer.perform(
      method, url, headers, body, milliseconds: Int(max(1, timeout.milliseconds)),
      into: Receipt(bodyByteCountMax: bodyByteCountMax, takeEvents: takeEvents),
      authorityFile: authorityFile,
      isRepeatable: isRepeatable, noticesStall: noticesStall)
  }

  private static func isClean(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
  }
}
