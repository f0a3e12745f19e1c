package import Base
import Crypto
import JSON
import JWS

/// A key of App Store Connect ("In-App Purchase"), and the tokens that it signs. Any thread may use it.
package final class AppleAPIKey: Sendable {
  /// Apple allows an hour; its own libraries use five minutes.
  package static let lifetime = Instant.Span.minutes(5)
  /// A token is not used in its last minute, because a request takes time and clocks differ.
  private static let reserve = Instant.Span.minutes(1)

  private let keyID: String
  private let issuerID: String
  private let bundleID: String
  private let key: P256PrivateKey
  private let current = Locked<Token?>(nil)

  private struct Token: Sendable {
    let text: Secret
    let from: Instant
    let until: Instant
  }

  /// Nil unless `pem` is an unencrypted P-256 key.
  package init?(keyID: String, issuerID: String, bundleID: String, pem: Secret) {
    guard let key = P256PrivateKey(pem: pem) else { return nil }
    self.keyID = keyID
    self.issuerID = issuerID
    self.bundleID = bundleID
    self.key = key
  }

  func token(at now: Instant) -> Secret {
    current.withLock { current in
      if let token = current, token.from <= now, now < token.until { return token.text }
      let token = Token(text: sign(at: now), from: now, until: now + Self.lifetime - Self.reserve)
      current = token
      return token.text
    }
  }

  /// Makes the next request sign a new token, unless another thread already did.
  func forget(_ text: Secret) {
    current.withLock { current in
      if current?.text.exposed == text.exposed { current = nil }
    }
  }

  private func sign(at now: Instant) -> Secret {
    let text = CompactJWS.compact(
      header: ["alg": "ES256", "kid": .string(keyID), "typ": "JWT"],
      payload: [
        "iss": .string(issuerID), "iat": .integer(now.seconds),
        "exp": .integer((now + Self.lifetime).seconds), "aud": "appstoreconnect-v1",
        "bid": .string(bundleID),
      ] as JSONValue, sign: key.signature)
    return Secret(text)
  }
}
