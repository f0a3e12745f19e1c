package import Base
internal import Crypto

/// The raw body of a webhook that Stripe signed; only `WebhookSecrets` makes one.
package struct VerifiedDelivery: Sendable {
  package let body: [UInt8]
  /// The value of its `Stripe-Signature` header.
  package let signature: [UInt8]
  /// When this attempt was signed; a retry has another.
  package let signedAt: Instant
  package let receivedAt: Instant

  fileprivate init(
    body: [UInt8], signature: [UInt8], signedAt: Instant, receivedAt: Instant
  ) {
    self.body = body
    self.signature = signature
    self.signedAt = signedAt
    self.receivedAt = receivedAt
  }
}

/// The signing secrets of a webhook endpoint: the current one, and the previous during a rotation.
package struct WebhookSecrets: Sendable {
  private let secrets: [Secret]

  /// Nil for an empty list or an empty secret, under which anybody could sign.
  package init?(_ secrets: [Secret]) {
    guard !secrets.isEmpty, !secrets.contains(where: { $0.exposed.isEmpty }) else { return nil }
    self.secrets = secrets
  }

  /// How far the signing time may be from ours, either way: five minutes, as in Stripe's libraries.
  package static let tolerance = Instant.Span.seconds(300)

  /// Proves that Stripe signed exactly these bytes, about now.
  ///
  /// `headers` are the values of every `Stripe-Signature` field. Does not prove that a delivery is
  /// new: the same one may come again for ever, which is why merging is idempotent.
  package func verify(
    headers: [[UInt8]], body: [UInt8], now: Instant
  ) throws(SignatureRefusal) -> VerifiedDelivery {
    guard let text = headers.first else { throw .missingHeader }
    guard headers.count == 1 else { throw .malformed }
    let header = try SignatureHeader(text)
    guard header.signedAt >= now - Self.tolerance - .milliseconds(now.subsecond) else {
      throw .tooOld
    }
    guard header.signedAt <= now + Self.tolerance else { throw .inFuture }
    guard matches(header, body) else { throw .mismatch }
    return VerifiedDelivery(
      body: body, signature: text, signedAt: header.signedAt, receivedAt: now)
  }

  /// Compares every code with every secret, however early one matches.
  private func matches(_ header: SignatureHeader, _ body: [UInt8]) -> Bool {
    var isMatch = false
    for secret in secrets {
      let expected = code(signedAtDigits: header.signedAtDigits, body: body, secret: secret)
      for code in header.codes where constantTimeEqual(code, expected) { isMatch = true }
    }
    return isMatch
  }
}

/// The header that Stripe would send with `body`: for fixtures and for resending them.
package func signatureHeader(body: [UInt8], secret: Secret, at moment: Instant) -> String {
  let digits = String(moment.seconds)
  let code = code(signedAtDigits: Array(digits.utf8), body: body, secret: secret)
  return "t=\(digits),v1=\(Hex.encode(code))"
}

/// The key is the whole secret as text, `whsec_` included: nothing is decoded from base64.
private func code(signedAtDigits: [UInt8], body: [UInt8], secret: Secret) -> [UInt8] {
  HMACSHA256.code(key: secret, signedAtDigits, [UInt8(ascii: ".")], body)
}

extension Instant {
  /// Milliseconds since the whole second before, so that ages count in whole seconds.
  fileprivate var subsecond: Int64 { milliseconds - seconds * 1000 }
}
