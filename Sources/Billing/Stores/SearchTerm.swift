// The only access to Unicode's normal forms.
@_spi(_Unicode) internal import Swift

package import Subscriptions

/// A text by which people may search for an object: an invoice's number, the payer's e-mail address.
package struct SearchTerm: Hashable, Sendable {
  package let object: ObjectKey
  /// The text in its normal form.
  package let text: String
  /// Whether it is about a person. If so, only a keyed code of it is stored.
  package let isPersonal: Bool

  private static let byteCountMax = 320

  /// Nil if no one would search for it: it is empty, or longer than any address can be.
  package init?(_ text: String?, of object: ObjectKey, isPersonal: Bool = false) {
    let text = Self.normalized(text ?? "")
    guard (1...Self.byteCountMax).contains(text.utf8.count) else { return nil }
    self.object = object
    self.text = text
    self.isPersonal = isPersonal
  }

  /// Lower case, without space at the ends and with single spaces between words. Each letter is
  /// composed with its marks (NFC), because some systems decompose them.
  package static func normalized(_ text: String) -> String {
    var composed = String.UnicodeScalarView()
    composed.append(contentsOf: text.lowercased()._nfc)
    return String(composed).split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }
}
