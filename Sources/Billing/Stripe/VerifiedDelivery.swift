package import Base
import Crypto

/// The raw body of a webhook that Stripe signed; only `WebhookSecrets` makes one.
package struct VerifiedDelivery: Sendable {
  package let body: [UInt8]
  /// The value of its `Stripe-Signature` header.
  package let signature: [UInt8]
  /// The digest of the secret that it was signed with.
  package let secret: String
  package let receivedAt: Instant

  fileprivate init(body: [UInt8], signature: [UInt8], secret: String, receivedAt: Instant) {
    self.body = body
    self.signature = signature
    self.secret = secret
    self.receivedAt = receivedAt
  }
}

extension VerifiedDelivery {
  /// A delivery that was verified on arrival and stored since.
  ///
  /// Warning: proves nothing about any other bytes.
  init(uncheckedBody body: [UInt8], receivedAt: Instant) {
    self.init(body: body, signature: [], secret: "", receivedAt: receivedAt)
  }
}

/// The signing secrets of a webhook endpoint: the current one, and the previous one during a rotation.
package struct WebhookSecrets: Sendable {
  private let secrets: [(secret: Secret, digest: String)]

  /// Nil if the list or a secret is empty, because anyone could sign with an empty secret.
  package init?(_ secrets: [Secret]) {
    guard !secrets.isEmpty, !secrets.contains(where: { $0.exposed.isEmpty }) else { return nil }
    self.secrets = secrets.map { ($0, $0.digest) }
  }

  var digests: [String] { secrets.map(\.digest) }

  /// How far the signing time may differ from ours, either way: five minutes, as in Stripe's libraries.
  package static let tolerance = Instant.Span.seconds(300)

  /// Verifies that Stripe signed exactly these bytes, about now.
  ///
  /// `headers` are the values of every `Stripe-Signature` field. A delivery is not proven to be
  /// new: the same one may come again at any time, which is why merging is idempotent.
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
    guard let secret = match(header, body) else { throw .mismatch }
    return VerifiedDelivery(body: body, signature: text, secret: secret, receivedAt: now)
  }

  /// The digest of the first secret that matches. It compares every code with every secret, even after a match.
  private func match(_ header: SignatureHeader, _ body: [UInt8]) -> String? {
    var match: String?
    for (secret, digest) in secrets {
      let expected = code(signedAtDigits: header.signedAtDigits, body: body, secret: secret)
      for code in header.codes where constantTimeEqual(code, expected) { match = match ?? digest }
    }
    return match
  }
}

/// The header that Stripe would send with `body`: for fixtures, and for sending them again.
package func signatureHeader(body: [UInt8], secret: Secret, at moment: Instant) -> String {
  let digits = String(moment.seconds)
  let code = code(signedAtDigits: Array(digits.utf8), body: body, secret: secret)
  return "t=\(digits),v1=\(Hex.encode(code))"
}

/// The key is the whole secret as text, including `whsec_`; nothing is decoded from base64.
private func code(signedAtDigits: [UInt8], body: [UInt8], secret: Secret) -> [UInt8] {
  HMACSHA256.code(key: secret, signedAtDigits, [UInt8(ascii: ".")], body)
}

extension Instant {
  /// Milliseconds since the last whole second, so that ages count in whole seconds.
  fileprivate var subsecond: Int64 { milliseconds - seconds * 1000 }
}
