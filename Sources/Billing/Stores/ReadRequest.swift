package import Base
package import Subscriptions

/// An object to be read again from its store, and why.
package struct ReadRequest: Sendable {
  /// The object that the job reads: a subscription, a purchase, or a payment whose invoice is unknown.
  package let object: ObjectKey
  package let reason: String
  /// A value that the reader needs and that rows must not hold in clear: a purchase's token.
  package let secret: Secret?
  /// Whether the request is satisfied if the object was ever read before.
  package let isFirstOnly: Bool
  /// Whether only a client says that there is something to read.
  package let isClaim: Bool
  /// Whether an earlier read for this very reason was enough.
  package let isOnce: Bool
  /// How long to wait for deliveries that may report the same by themselves.
  package let delay: Instant.Span

  package init(
    _ object: ObjectKey, reason: String, secret: Secret? = nil, isFirstOnly: Bool = false,
    isClaim: Bool = false, isOnce: Bool = false, delay: Instant.Span = .seconds(0)
  ) {
    self.object = object
    self.reason = reason
    self.secret = secret
    self.isFirstOnly = isFirstOnly
    self.isClaim = isClaim
    self.isOnce = isOnce
    self.delay = delay
  }

  /// Other deliveries of the same change may be on their way.
  private static let settlingTime = Instant.Span.minutes(2)

  /// For an object that the subscription names, unless a delivery reports it soon.
  static func unknown(_ object: ObjectKey, of subscription: ObjectKey) -> ReadRequest {
    ReadRequest(
      subscription, reason: "unknown_\(object.kind.rawValue):\(object.id)", isOnce: true,
      delay: settlingTime)
  }

  /// A genuine delivery that cannot be decoded names the object.
  package static func undecodable(_ object: ObjectKey, secret: Secret? = nil) -> ReadRequest {
    ReadRequest(object, reason: "undecodable", secret: secret)
  }

  /// The same request for another object.
  package func about(_ other: ObjectKey) -> ReadRequest {
    ReadRequest(
      other, reason: reason, secret: secret, isFirstOnly: isFirstOnly, isClaim: isClaim,
      isOnce: isOnce, delay: delay)
  }
}
