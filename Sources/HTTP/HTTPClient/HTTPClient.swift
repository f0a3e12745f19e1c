package import Base
package import HTTPMessages

/// Makes HTTP requests by libcurl: TLS verified, no redirects followed, everything bounded.
///
/// A call blocks its thread until the reply is whole or the timeout has passed. Calls from several
/// threads go side by side, each on a handle of its own; handles and their connections are reused. Only
/// what merely asks, GET and HEAD, goes over a connection that served before, and may be sent again where
/// that ends without an answer; anything else is sent once.
package final class HTTPClient: Sendable {
  package struct Reply: Sendable {
    package let status: Int
    package let headers: Headers
    package let body: [UInt8]
  }

  private static let idleCountMax = 8

  private let bodyByteCountMax: Int
  private let idle = Locked<[Transfer]>([])

  /// Longer bodies are refused as they arrive.
  package init(bodyByteCountMax: Int = 1 << 20) { self.bodyByteCountMax = bodyByteCountMax }

  /// Sends one request. Any status is a reply; an error means that there is none.
  ///
  /// `timeout` bounds the whole call, connecting and name lookup included. Names and values of
  /// headers must not hold line breaks (`.invalidRequest`).
  package func send(
    _ method: String, _ url: String, headers: [(String, String)] = [], body: [UInt8]? = nil,
    timeout: Instant.Span
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
      bodyByteCountMax: bodyByteCountMax)
  }

  private static func isClean(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
  }
}
