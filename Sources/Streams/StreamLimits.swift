package import Base

/// The limits of live streams at one instance; the defaults suit the open internet.
package struct StreamLimits: Sendable {
  /// Streams in total, of one account, and of one address or IPv6 network of 64 bits.
  package var countMax = 10_000
  package var countPerAccountMax = 32
  package var countPerAddressMax = 256
  /// How often a stream gets a sign of life, and its account is looked at: proxies end what is silent for a minute.
  package var heartbeat = Instant.Span.seconds(25)
  /// How long a client may leave everything unread once the socket's buffer is full, or be out of reach.
  package var stallSpan = Instant.Span.seconds(60)
  /// How long a stream lasts, give or take a tenth, so that clients spread over the instances again.
  package var lifetime = Instant.Span.hours(1)

  package init() {}
}
