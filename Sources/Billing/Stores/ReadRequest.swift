package import Base
package import Subscriptions

/// An object to be read of its store again, and why.
package struct ReadRequest: Sendable {
  /// What its job reads: a subscription, a purchase, or a payment whose invoice is unknown.
  package let object: ObjectKey
  package let reason: String
  /// What the reader needs to know and rows may not hold in clear: a purchase's token.
  package let secret: Secret?
  /// Whether an object that was ever read needs no other read because of it.
  package let isFirstOnly: Bool
  /// Whether a client alone says that there is something to read.
  package let isClaim: Bool
  /// Whether a read that was asked for this very reason before was enough.
  package let isOnce: Bool
  /// How long to wait for what may tell as much by itself.
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

  /// A subscription names an object that nobody told of: one read, unless it is told soon.
  static func unknown(_ object: ObjectKey, of subscription: ObjectKey) -> ReadRequest {
    ReadRequest(
      subscription, reason: "unknown_\(object.kind.rawValue):\(object.id)", isOnce: true,
      delay: settlingTime)
  }

  /// A genuine delivery that cannot be read names that object.
  package static func undecodable(_ object: ObjectKey, secret: Secret? = nil) -> ReadRequest {
    ReadRequest(object, reason: "undecodable", secret: secret)
  }

  /// The same about another object.
  package func about(_ other: ObjectKey) -> ReadRequest {
    ReadRequest(
      other, reason: reason, secret: secret, isFirstOnly: isFirstOnly, isClaim: isClaim,
      isOnce: isOnce, delay: delay)
  }
}
