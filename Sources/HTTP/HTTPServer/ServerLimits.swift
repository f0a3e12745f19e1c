package import Base

/// The limits of a server; the defaults suit the open internet.
package struct ServerLimits: Sendable {
  /// Further connections get a 503 at once.
  package var connectionCountMax = 10_000
  /// Connections of one address, or of one IPv6 network of 64 bits; nil for no such limit. Trusted proxies are exempt.
  package var connectionsPerAddressMax: Int?
  /// Bytes of bodies and responses in memory: in total, and for one client. Files that are sent or stored do not count.
  package var heldByteCountMax = 256 << 20
  package var heldByteCountPerClientMax = 16 << 20
  /// Request line and header section together.
  package var headerByteCountMax = 24 * 1024
  package var headerCountMax = 100
  /// From the connection's start, or from a later request's first line, to the end of its header.
  package var headSpan = Instant.Span.seconds(10)
  /// The time that a body may take in addition to the time at `byteRateMin` for the bytes received so far.
  package var bodySpan = Instant.Span.seconds(20)
  /// The slowest average pace of bodies and responses, in bytes a second.
  package var byteRateMin: Int64 = 100_000
  /// How long the steps of an endpoint may stay pending before the client gets a 503.
  package var answerSpan = Instant.Span.seconds(60)
  /// The time that sending a response may take in addition to the time at `byteRateMin`.
  package var sendSpan = Instant.Span.seconds(30)
  /// A client that takes a block of a response in less time is sent larger blocks.
  package var quickBlockSpan = Instant.Span.milliseconds(500)
  /// How long a connection may wait for its next request line.
  package var idleSpan = Instant.Span.seconds(60)
  /// A refused body up to this size is read and discarded, so that the client sees the response.
  package var discardByteCountMax: Int64 = 1 << 20
  package var discardSpan = Instant.Span.seconds(2)
  /// How long a 429 is delayed, and at how many connections at a time. Beyond that number, it is sent at once.
  package var pauseSpan = Instant.Span.milliseconds(500)
  package var pauseCountMax = 1000
  /// Threads that serve connections; nil means one for each core.
  package var workerCount: Int?
  /// Whether each request is logged, not only those that failed or are traced.
  package var logsEveryRequest = false

  package init() {}

  /// The time that `byteCount` bytes may take at the slowest pace.
  func pace(_ byteCount: Int64) -> Instant.Span {
    .milliseconds(byteCount * 1000 / max(1, byteRateMin))
  }

  /// A connection's memory in libmicrohttpd: the request's head, its index, and the response's head.
  var poolByteCount: Int { headerByteCountMax + 8 * 1024 }
}
