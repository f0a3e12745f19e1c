package import Base

/// A key that makes codes of personal texts (HMAC-SHA-256), by which they can be found, but not read.
///
/// Anyone who has both the key and the database can try texts one by one, so keep the two apart.
package struct SearchKey: Sendable {
  package static let byteCount = 32

  private let secret: Secret

  /// Nil unless the secret has 32 bytes.
  package init?(_ secret: Secret) {
    guard secret.exposed.count == Self.byteCount else { return nil }
    self.secret = secret
  }

  package func code(of text: String) -> [UInt8] {
    HMACSHA256.code(key: secret, Array("coffer search|".utf8), Array(text.utf8))
  }
}

extension Secret {
  /// Identifies a secret in tables and logs; nothing can be signed with it.
  ///
  /// A short or guessable secret could be found by trying all of them, so use it for random secrets only.
  package var digest: String {
    Hex.encode(SHA256.hash(Array("coffer secret|".utf8) + exposed).prefix(4))
  }
}
