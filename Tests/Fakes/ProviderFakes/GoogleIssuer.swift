package import Base
package import Crypto
package import JSON
import JWS

/// Google's side of OpenID Connect: rotating keys, and tokens signed with the newest one.
package final class GoogleIssuer: Sendable {
  package static let issuer = "https://accounts.google.com"

  private let keys: Locked<[RSAPrivateKey]>

  /// The first keys, oldest first; a key set holds the last three.
  package init(keys: [RSAPrivateKey]) {
    precondition(!keys.isEmpty, "an issuer has a key")
    self.keys = Locked(keys)
  }

  /// Signs with `key` from now on; the keys before it stay in the set for a while.
  package func rotate(to key: RSAPrivateKey) {
    keys.withLock { $0.append(key) }
  }

  /// The answer of `/oauth2/v3/certs`.
  package var keySet: JSONValue {
    let published = keys.withLock { Array($0.suffix(3)) }
    return ["keys": .array(published.reversed().map { Self.jwk($0.publicKey) })]
  }

  /// The token of a push delivery, valid for an hour from `now`.
  package func token(audience: String, email: String, at now: Instant) -> String {
    sign([
      "aud": .string(audience), "azp": .string(Self.subject), "email": .string(email),
      "email_verified": true, "exp": .integer(now.seconds + 3600), "iat": .integer(now.seconds),
      "iss": .string(Self.issuer), "sub": .string(Self.subject),
    ])
  }

  /// Any claims, signed as Google signs: for genuine tokens that are not for us.
  package func sign(_ claims: JSONValue) -> String {
    let key = keys.withLock { $0[$0.count - 1] }
    return CompactJWS.compact(
      header: [
        "alg": "RS256", "kid": .string(Self.keyID(key.publicKey)), "typ": "JWT",
      ], payload: claims
    ) { key.signature(for: $0) }
  }

  /// The key's id: the first 20 bytes of its modulus' digest, so that it never changes.
  package static func keyID(_ key: RSAPublicKey) -> String {
    Hex.encode(SHA256.hash(key.modulus).prefix(20))
  }

  private static let subject = "113774264463038321964"

  private static func jwk(_ key: RSAPublicKey) -> JSONValue {
    [
      "alg": "RS256", "e": .string(Base64.url.encode(key.exponent)), "kid": .string(keyID(key)),
      "kty": "RSA", "n": .string(Base64.url.encode(key.modulus)), "use": "sig",
    ]
  }
}
