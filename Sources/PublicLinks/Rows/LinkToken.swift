import Base
import Crypto

/// The secret in a link's URL: 256 random bits. It cannot be guessed, so the row is found by a plain hash of it.
package struct LinkToken: Sendable {
  let secret: Secret

  private static let byteCount = 32

  static func random() -> LinkToken {
    LinkToken(secret: Secret(Base64.url.encode(Random.bytes(byteCount))))
  }

  var hash: [UInt8] { SHA256.hash(secret.exposed) }

  var text: String { String(decoding: secret.exposed, as: UTF8.self) }

  private init(secret: Secret) { self.secret = secret }

  /// Nil unless the text has the form of a token.
  init?(_ text: some StringProtocol) {
    guard Base64.url.decode(String(text))?.count == Self.byteCount else { return nil }
    secret = Secret(String(text))
  }

  /// Reads a token, or the URL that it is in. The fragment, which has the key, is ignored.
  package init?(inURL text: String) {
    let url = text.prefix { $0 != "#" && $0 != "?" }
    self.init(url.split(separator: "/").last ?? "")
  }
}
