package import Base

/// Makes codes of personal texts, by which they are found and which do not tell them (HMAC-SHA-256).
///
/// Who has the key and the database can try texts, one by one: keep the two apart.
package struct SearchKey: Sendable {
  package static let byteCount = 32

  private let secret: Secret

  /// Nil unless it has 32 bytes.
  package init?(_ secret: Secret) {
    guard secret.exposed.count == Self.byteCount else { return nil }
    self.secret = secret
  }

  package func code(of text: String) -> [UInt8] {
    HMACSHA256.code(key: secret, Array("coffer search|".utf8), Array(text.utf8))
  }
}

extension Secret {
  /// Tells one secret from the others in tables and logs; nothing can be signed with it.
  ///
  /// It gives a short or guessable secret away to who tries them all, so it is for random ones.
  package var digest: String {
    Hex.encode(SHA256.hash(Array("coffer secret|".utf8) + exposed).prefix(4))
  }
}
