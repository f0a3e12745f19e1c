package import Base
import Crypto
package import Subscriptions
import Tiers

/// The identifier of a purchase. Anyone who holds it can ask for the purchase, so it is kept sealed.
package struct PurchaseToken: Hashable, Sendable {
  /// In practice it has several hundred characters.
  package static let byteCountMax = 2048

  let text: String
  /// The app's package name, if the token is known to belong to an app other than the oldest.
  var package: String?
  /// The purchase's key in the ledger, with the token's SHA-256 as its id.
  package let objectKey: ObjectKey

  /// Nil unless it is visible ASCII of an accepted length.
  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard (1...Self.byteCountMax).contains(bytes.count), bytes.allSatisfy({ 0x21...0x7E ~= $0 })
    else { return nil }
    self.text = text
    objectKey = ObjectKey(
      provider: .google, environment: .live, kind: .purchase, id: Hex.encode(SHA256.hash(bytes)))
  }

  package var secret: Secret { Secret((package.map { $0 + " " } ?? "") + text) }

  /// Reads the form that `secret` has.
  init?(secret: Secret) {
    let words = String(decoding: secret.exposed, as: UTF8.self)
      .split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    self.init(words[words.count - 1])
    package = words.count == 2 ? words[0] : nil
  }

  /// A purchase without its token, for reading its stored answers again. It equals the purchase's token.
  init(of key: ObjectKey) {
    text = ""
    objectKey = key
  }

  package static func == (a: PurchaseToken, b: PurchaseToken) -> Bool {
    a.objectKey == b.objectKey
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(objectKey) }
}

extension PurchaseToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "<purchase token>" }
  package var debugDescription: String { "<purchase token>" }
  package var customMirror: Swift.Mirror { Swift.Mirror(self, children: []) }
}
